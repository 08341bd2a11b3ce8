"""The return values of the bodies of a document's steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from geneva_drive.declarative.actions.changes import ContextChange
from geneva_drive.declarative.routes import EndedStep


@dataclass(frozen=True, slots=True)
class StepEnd:
    """How a step ended, what it writes into the context, and what its actions did."""

    ended: EndedStep
    changes: tuple[ContextChange, ...] = ()
    records: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the actions of a step did before its request for approval opens."""

    changes: tuple[ContextChange, ...]
    records: tuple[dict[str, Any], ...]
