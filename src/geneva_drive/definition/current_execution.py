"""What a workflow instance asks of the execution that runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.telemetry import StepLogger


class CurrentExecution(Protocol):
    """The execution as the running instance sees it; the engine implements it."""

    @property
    def workflow_id(self) -> Any: ...
    @property
    def hero_id(self) -> str | None: ...
    @property
    def context(self) -> Mapping[str, Any]: ...
    @property
    def attempt(self) -> int: ...
    @property
    def is_resumable(self) -> bool: ...
    @property
    def logger(self) -> StepLogger: ...
    @property
    def handle(self) -> WorkflowHandle[Any]: ...
    def load_hero(self) -> Any: ...
    def result_of(self, step_name: str) -> Any: ...
