"""Branches: steps of a document that run other steps as child workflows."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step
from geneva_drive.definition.options.options import Options


class BranchStep(Step[[], Any]):
    """A `parallel` or `foreach` of a document."""

    def __init__(self, step: Any, opts: Options, where: str) -> None:
        super().__init__(NodeKind.STEP, _unused, opts, where)
        self.step = step


def _unused(instance: object) -> None:
    """Raise an error: the engine runs the branches, not a body."""
    raise AssertionError(f"{instance!r} has no body")
