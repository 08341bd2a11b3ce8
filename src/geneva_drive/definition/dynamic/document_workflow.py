"""The class behind all workflows of documents."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.document_lane import DOCUMENT_LANE

if TYPE_CHECKING:
    from geneva_drive.definition.current_execution import CurrentExecution
    from geneva_drive.settings import Settings


class DocumentRun(Workflow[Any, Any]):
    """The instance that runs the steps of a document; its type is the lane of all documents."""

    type_name = DOCUMENT_LANE
    may_proceed_without_hero = True

    prepared: Any = None  # results of a step's actions that run before its request opens

    @property
    def scope(self) -> dict[str, Any]:
        """The values that conditions and templates read: a copy of the context."""
        return dict(self.context)

    @property
    def now(self) -> datetime:
        return self._execution.now

    @property
    def settings(self) -> Settings:
        return self._execution.settings

    @property
    def _execution(self) -> CurrentExecution:
        assert self._geneva_execution is not None, "a body runs inside an execution"
        return self._geneva_execution


DOCUMENTS: Final[Definition] = definition_of(DocumentRun)
