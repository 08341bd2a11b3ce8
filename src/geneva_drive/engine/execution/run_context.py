"""The context of a run: everything that `self` reads while a step runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.definition import Definition
from geneva_drive.engine import kept_results
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.fixed_context import FixedContext
from geneva_drive.engine.heroes import heroes
from geneva_drive.engine.waits.events import callbacks
from geneva_drive.errors import HeroGone, InvalidContext, InvalidInput, OutdatedContext
from geneva_drive.serialization import typed_json
from geneva_drive.settings import Settings
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.store import Store
from geneva_drive.telemetry import StepLogger, identifiers

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class RunContext:
    """One execution, as its user code sees it."""

    def __init__(
        self,
        open_environment: Callable[[], Environment],
        definition: Definition,
        workflow: WorkflowRecord,
        execution: ExecutionRecord | None,
    ) -> None:
        self._open_environment = open_environment
        self._definition = definition
        self._workflow = workflow
        self._execution = execution
        self._session: Session | None = None
        self._callback_urls: dict[str, str] = {}

    @property
    def workflow_id(self) -> Any:
        return self._workflow.id

    @property
    def hero_id(self) -> str | None:
        return self._workflow.hero_id

    @cached_property
    def context(self) -> Any:
        """An instance of the context type, or a mapping that cannot be changed."""
        values: dict[str, Any] = typed_json.load(self._workflow.context) or {}
        kind = self._definition.context_type
        if kind is None:
            return FixedContext(values)
        try:
            return kind.load(self._definition.workflow_class.__name__, values)
        except InvalidContext as invalid:
            raise OutdatedContext(self._workflow.id, invalid) from None

    @property
    def attempt(self) -> int:
        return self._execution.attempt_number if self._execution else 1

    @property
    def now(self) -> datetime:
        return self._open_environment().clock.now()

    @property
    def settings(self) -> Settings:
        return self._open_environment().settings

    @property
    def is_resumable(self) -> bool:
        if self._workflow.type == DYNAMIC_TYPE:
            return self._execution is not None and self._execution.is_worker
        node = self._definition.get(self._execution.step_name) if self._execution else None
        return node is not None and (node.is_resumable or node.is_worker)

    @cached_property
    def logger(self) -> StepLogger:
        workflow, execution = self._workflow, self._execution
        workflow_class = self._definition.workflow_class
        return StepLogger(
            f"{workflow_class.__module__}.{workflow_class.__qualname__}",
            identifiers(
                type_name=workflow.type,
                workflow_id=workflow.id,
                hero=(workflow.hero_type, workflow.hero_id),
                step_name=execution.step_name if execution else None,
                execution_id=execution.id if execution else None,
            ),
        )

    @cached_property
    def handle(self) -> Any:
        return self._open_environment().open_handle(self._workflow)

    @contextmanager
    def within(self, session: Session) -> Iterator[None]:
        """Make the hero belong to the session of a step with `transaction=True`."""
        self._session = session
        self.__dict__.pop("_hero", None)  # the conditions may have loaded it, detached
        try:
            yield
        finally:
            # This session is closed, so handlers and hooks after a rollback load the hero again.
            self._session = None
            self.__dict__.pop("_hero", None)
            self._callback_urls.clear()  # their rows may have been rolled back

    @property
    def loaded_hero(self) -> Any:
        """The hero, if user code has asked for it."""
        return self.__dict__.get("_hero")

    @cached_property
    def _hero(self) -> Any:
        return heroes.load(
            self._open_environment(),
            self._definition.workflow_class,
            self._workflow.hero_type,
            self._workflow.hero_id,
            self._session,
        )

    def load_hero(self) -> Any:
        """Return the hero; None if it is gone and the class may proceed without it."""
        try:
            return self._hero
        except HeroGone:
            if self._definition.workflow_class.may_proceed_without_hero:
                return None
            raise

    def dump_result(self, value: object) -> str:
        """Return a result as typed JSON; raises if it is too large or cannot be stored."""
        name = self._execution.step_name if self._execution else None
        return typed_json.dump_within(
            value,
            self._open_environment().settings.max_result_size,
            what=f"The result of step {name!r}" if name else "The result",
            setting="max_result_size",
        )

    def result_of(self, step: object) -> Any:
        [result] = self.results_of([step])
        return result

    def callback_url(self, step: object) -> str:
        """Return the URL that an outside service calls for a step; each attempt has its own."""
        name = self._definition.require(step).name
        if name not in self._callback_urls:
            self._callback_urls[name] = callbacks.create_url(
                self._open_environment(), self._definition, self._workflow.id, step
            )
        return self._callback_urls[name]

    def results_of(self, steps: Iterable[object] | None) -> list[Any]:
        """Return the kept results of `steps`; None means the dependencies of the running node."""
        wanted = self._dependencies() if steps is None else steps
        return kept_results.of_nodes(self._open_store, self._workflow, self._definition, wanted)

    def _dependencies(self) -> Sequence[str]:
        if self._execution is None:
            raise InvalidInput("results_of() needs the steps to read: this instance runs no step.")
        if self._workflow.type == DYNAMIC_TYPE:
            return kept_results.stored_dependencies(self._open_store(), self._execution)
        return self._definition.require(self._execution.step_name).depends_on

    def _open_store(self) -> Store:
        return self._open_environment().store
