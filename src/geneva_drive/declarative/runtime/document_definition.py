"""The definition of a document, or of one of its branches."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.declarative import routes
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.routes import EndedStep, Ending, GoTo, Route
from geneva_drive.declarative.steps import ActionStep, ApprovalStep, Step
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.document_lane import DOCUMENT_LANE

LOAD = "$load"  # the node that runs the loaders; no step has this id


@dataclass(frozen=True, kw_only=True)
class DocumentDefinition(Definition):
    """The steps of one list of a document: of the document itself, or of a branch."""

    document: Document
    document_signature: str
    entry: str  # the first node
    branch_of: str | None = None  # the `parallel` or `foreach` around a branch

    @property
    def lane(self) -> str:
        return DOCUMENT_LANE

    @property
    def is_document(self) -> bool:
        return True

    @property
    def version(self) -> str | None:
        return self.document.version

    @property
    def lifetime(self) -> timedelta | None:
        return self.document.timeout if self.branch_of is None else None

    @property
    def signature(self) -> str:
        return self.document_signature

    @property
    def is_graph(self) -> bool:
        return False

    @property
    def entries(self) -> tuple[str, ...]:
        return (self.entry,)

    def step(self, name: str) -> Step | None:
        """Return the step of a node; None for the node that loads the context."""
        return None if name == LOAD else self.document.step(name)

    def route(self, name: str, ended: EndedStep) -> Route:
        """Return where a workflow goes after a node."""
        if name == LOAD:
            return GoTo(self.document.steps[0].id)
        return routes.route(self.document, name, ended)

    def after(self, name: str) -> Node | None:
        """Return the step after a skipped step; a skipped approval counts as approved."""
        route = self.route(name, EndedStep(_passed(self.step(name))))
        return self.get(route.step_id) if isinstance(route, GoTo) else None


def _passed(step: Step | None) -> Ending:
    if isinstance(step, ActionStep) and step.requires is None:
        return Ending.ALLOWED if step.action == "allow" else Ending.BLOCKED
    if isinstance(step, ActionStep | ApprovalStep):
        return Ending.APPROVED
    return Ending.EXECUTED
