"""What all kinds of nodes have in common where they are written."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geneva_drive.definition.options.options import Options


class NodeKind(StrEnum):
    STEP = "step"
    RESUMABLE = "resumable"
    TASK = "task"
    DECISION = "decision"
    CHILD = "child"
    REMOVED = "removed"

    @property
    def noun(self) -> str:
        """Name the kind in a sentence."""
        return _NOUNS.get(self, "step")

    @property
    def maker(self) -> str:
        """Name the function of `gd` that makes one."""
        return "resumable_step" if self is NodeKind.RESUMABLE else self.value

    @property
    def is_in_chain(self) -> bool:
        """Say whether there is something that comes before it by position."""
        return self not in (NodeKind.TASK, NodeKind.DECISION)


_NOUNS = {
    NodeKind.TASK: "task",
    NodeKind.DECISION: "decision",
    NodeKind.CHILD: "child workflow",
}


class Declared:
    """What a decorator, or a call such as `gd.task(job=...)`, leaves in a class body."""

    def __init__(self, kind: NodeKind, name: str, options: Options, where: str) -> None:
        self.kind = kind
        self.options = options
        self.where = where
        self._name = name

    def __repr__(self) -> str:
        return f"<{self.kind.noun} {self._name!r} at {self.where}>"
