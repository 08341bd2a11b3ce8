"""The workflows of one class on one Drive: create, find, list."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack

from sqlalchemy.exc import DBAPIError

from geneva_drive import checks
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic.builder import DynamicWorkflow
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.options import options
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.display import shown
from geneva_drive.drive import audit_text, joined_transaction
from geneva_drive.drive.create_options import CreateOptions
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.joined_transaction import (
    AsyncJoinedTransaction,
    JoinedTransaction,
    session_of,
)
from geneva_drive.drive.search.queries import WorkflowQuery
from geneva_drive.durations import Duration
from geneva_drive.engine import contexts
from geneva_drive.engine.commit import creation, telemetry_events
from geneva_drive.engine.commit.creation import (
    Created,
    CreationRefused,
    CreationResult,
    Existing,
    NewWorkflow,
)
from geneva_drive.engine.heroes import heroes
from geneva_drive.errors import (
    AlreadyRunning,
    InvalidInput,
    StepConfigurationError,
    StorageError,
    WorkflowNotFound,
)
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import ExecutionRecord
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter

if TYPE_CHECKING:
    from geneva_drive.definition.context_type import GivenContext
    from geneva_drive.drive.drive import Drive

logger = logging.getLogger(__name__)

W = TypeVar("W", bound=Workflow[Any, Any])

_MAX_KEY_LENGTH = 255


class ClassWorkflows(Generic[W]):
    """The workflows of a class on a Drive, as `SignupWorkflow.using(drive)` returns them."""

    def __init__(
        self, drive: Drive, workflow_class: type[W], document: Definition | None = None
    ) -> None:
        if not isinstance(workflow_class, WorkflowMeta):
            raise InvalidInput(f"workflows() takes a workflow class, got {shown(workflow_class)}.")
        self._drive = drive
        self._class = workflow_class
        self._document = document  # None for a class

    @property
    def _definition(self) -> Definition:
        return self._document or definition_of(self._class)

    def create(  # noqa: PLR0913 - the contract's optional keywords
        self,
        hero: object = None,
        *,
        allow_multiple: bool = False,
        context: GivenContext | None = None,
        queue: str | None = None,
        priority: int | None = None,
        wait: Duration | datetime | None = None,
        idempotency_key: str | None = None,
        actor: str | None = None,
        session: JoinedTransaction | None = None,
    ) -> WorkflowHandle[W]:
        """Start a workflow; see `Workflow.create`."""
        if self._class is Workflow:
            raise InvalidInput("gd.Workflow has no steps. Create a workflow of your own class.")
        joined = None
        if session is not None:
            async_form = f"await {self._class.__name__}.acreate(..., session=session)"
            joined = joined_transaction.opened(session, async_form)
        definition = self._definition
        new = NewWorkflow(
            definition=definition,
            hero=None if hero is None else heroes.reference_to(hero, session_of(joined)),
            allow_multiple=checks.flag("create(allow_multiple=...)", allow_multiple),
            context=self._context(definition, context),
            queue=_job_option(options.queue, queue),
            priority=_job_option(options.priority, priority),
            wait=None if wait is None else checks.duration_or_moment("create(wait=...)", wait),
            idempotency_key=_key(idempotency_key),
            started_by=None if actor is None else audit_text.actor("create", actor),
        )
        answer = self._write(new, joined)
        active = self._read_active(answer, joined)
        match answer:
            case Created(workflow=workflow) | Existing(workflow=workflow):
                handle = self._drive.open_handle(
                    workflow, active, may_be_uncommitted=joined is not None
                )
                handle.was_known = isinstance(answer, Existing)
                if isinstance(answer, Created):
                    handle.firsts = tuple(answer.firsts)
                return handle
            case CreationRefused(workflow=workflow):
                existing: WorkflowHandle[Any] = self._drive.open_handle(workflow, active)
                assert new.hero is not None, "only a hero's second workflow is refused"
                raise AlreadyRunning(workflow.type, new.hero.type, new.hero.id, existing)

    async def acreate(
        self,
        hero: object = None,
        *,
        session: AsyncJoinedTransaction | None = None,
        **options: Unpack[CreateOptions],
    ) -> WorkflowHandle[W]:
        """Start a workflow from async code; see `Workflow.acreate`."""
        if session is None:
            try:
                handle = await asyncio.to_thread(self.create, hero, **options)
            except AlreadyRunning as refusal:
                with suppress(WorkflowNotFound):  # deleted meanwhile
                    await refusal.existing.areload()
                raise
            return await handle.areload()
        if not self._drive.is_open:
            await asyncio.to_thread(lambda: self._drive.environment)
        return await joined_transaction.run_joined(
            session, lambda joined: self.create(hero, session=joined, **options)
        )

    def start_built(
        self, built: DynamicWorkflow, session: JoinedTransaction | None
    ) -> WorkflowHandle[W]:
        """Start a workflow whose graph was built in code; see `DynamicWorkflow.start`."""
        if not isinstance(built, DynamicWorkflow):
            raise InvalidInput(f"start_dynamic() takes a gd.DynamicWorkflow, got {shown(built)}.")
        joined = joined_transaction.opened(
            session, "await session.run_sync(lambda joined: workflow.start(session=joined))"
        )
        own = session_of(joined)
        graph = built.freeze(self._drive.clock.now(), lambda hero: heroes.reference_to(hero, own))
        new = NewWorkflow(
            definition=definition_of(self._class),
            hero=heroes.reference_to(built.hero, own),
            # Only workflows with a class are limited to one per hero.
            allow_multiple=True,
            context=self._context(definition_of(self._class), built.context),
            queue=_job_option(options.queue, built.queue),
            priority=_job_option(options.priority, built.priority),
            wait=None,
            idempotency_key=_key(_key_of_template(built)),
            graph=graph.within(self._drive.settings.max_payload_size),
            template=built.template_name,
            reads_back=self._drive.events.wanted,
        )
        workflow = self._write(new, joined).workflow
        return self._drive.open_handle(workflow, may_be_uncommitted=joined is not None)

    def get_or_create(self, hero: object = None, **create_options: Any) -> WorkflowHandle[W]:
        """Return the hero's ongoing workflow of this class, or start one."""
        try:
            return self.create(hero, **create_options)
        except AlreadyRunning as refusal:
            return refusal.existing

    async def aget_or_create(
        self,
        hero: object = None,
        *,
        session: AsyncJoinedTransaction | None = None,
        **options: Unpack[CreateOptions],
    ) -> WorkflowHandle[W]:
        """Return the hero's ongoing workflow of this class, or start one."""
        try:
            return await self.acreate(hero, session=session, **options)
        except AlreadyRunning as refusal:
            return refusal.existing

    def find(self, workflow_id: object) -> WorkflowHandle[W]:
        """Return the workflow with this id, if it is of this class or a subclass."""
        store = self._drive.store
        try:
            key = keys.parse(store.key_type, workflow_id)
        except InvalidInput as error:
            raise WorkflowNotFound(workflow_id, self._wanted_type) from error
        record = store.read(lambda connection: store.workflows.get(connection, key))
        types = type_names(self._class)
        if record is None or (types is not None and record.type not in types):
            raise WorkflowNotFound(workflow_id, self._wanted_type)
        return self._drive.open_handle(record)

    async def afind(self, workflow_id: object) -> WorkflowHandle[W]:
        """Return the workflow with this id, like `find`."""
        handle = await asyncio.to_thread(self.find, workflow_id)
        return await handle.areload()

    def query(self) -> WorkflowQuery[W]:
        return WorkflowQuery(self._drive, WorkflowFilter(types=type_names(self._class)))

    def ready(self) -> WorkflowQuery[W]:
        return self.query().ready()

    def performing(self) -> WorkflowQuery[W]:
        return self.query().performing()

    def finished(self) -> WorkflowQuery[W]:
        return self.query().finished()

    def canceled(self) -> WorkflowQuery[W]:
        return self.query().canceled()

    def paused(self) -> WorkflowQuery[W]:
        return self.query().paused()

    def ongoing(self) -> WorkflowQuery[W]:
        return self.query().ongoing()

    def for_hero(self, hero: object) -> WorkflowQuery[W]:
        return self.query().for_hero(hero)

    @property
    def _wanted_type(self) -> str | None:
        return None if self._class is Workflow else definition_of(self._class).type

    def _context(self, definition: Definition, given: object) -> str | None:
        return contexts.dump(definition, given, self._drive.settings.max_payload_size)

    def _write(self, new: NewWorkflow, joined: JoinedTransaction | None) -> CreationResult:
        store = self._drive.store
        now = self._drive.clock.now()
        wakeups = self._drive.environment.wakeups
        if joined is None and store.database.is_joined:
            answer = creation.start(store, new, now, Hints())  # sent after that commit
            store.database.after_commit(lambda: self._announce(answer, wakeups.ring))
            return answer
        if joined is None:
            answer = creation.start(store, new, now, wakeups.hints)
            self._announce(answer, wakeups.ring_here)
            return answer
        connection = joined_transaction.connection_of(joined, store.database.engine)
        store.database.dialect.ensure_transaction(connection)
        with store.database.translating():
            answer = creation.create(connection, store, new, now)
        session = session_of(joined)
        if store.database.is_joined_to(connection):
            store.database.after_commit(lambda: self._announce(answer, wakeups.ring))
        elif session is not None:
            joined_transaction.after_commit(
                session,
                lambda: self._announce_if_kept(answer),
                on_a_thread=connection.dialect.is_async,
            )
        elif isinstance(answer, Created):
            wakeups.hints.send_within(connection)
        return answer

    def _read_active(
        self, answer: CreationResult, joined: JoinedTransaction | None
    ) -> tuple[ExecutionRecord, ...] | None:
        """Return the active executions if the driver is async, else None.

        Otherwise, reading the handle's state would run a query and block the event loop.
        """
        if joined is None or not joined_transaction.is_async(joined):
            return None
        if isinstance(answer, Created):
            return tuple(answer.firsts)
        store = self._drive.store
        connection = joined_transaction.connection_of(joined, store.database.engine)
        return tuple(store.executions.active_of(connection, [answer.workflow.id]))

    def _announce_if_kept(self, answer: CreationResult) -> None:
        """Announce a workflow unless the savepoint that created it was rolled back."""
        store = self._drive.store
        try:
            with store.reading() as connection:
                is_kept = store.workflows.get(connection, answer.workflow.id) is not None
        except (StorageError, DBAPIError) as error:
            # The caller has committed: an error raised here would make it repeat its work.
            logger.warning("Workflow %s was not announced: %s", answer.workflow.id, error)
            return
        if is_kept:
            self._announce(answer, self._drive.environment.wakeups.ring)

    def _announce(self, answer: CreationResult, ring: Callable[[], None]) -> None:
        if not isinstance(answer, Created):
            return
        if self._drive.events.wanted:
            self._drive.events.emit(telemetry_events.created(answer.workflow, answer.firsts))
        ring()


def _key_of_template(built: DynamicWorkflow) -> str | None:
    """Return the idempotency key prefixed with the template, as each template has its own keys."""
    key = built.idempotency_key
    is_text = isinstance(key, str) and bool(key)
    return f"{built.template_name}: {key}" if built.template_name and is_text else key


def type_names(workflow_class: type[Workflow[Any, Any]]) -> list[str] | None:
    """Return the types of a class and its subclasses, or None for all types."""
    if workflow_class is Workflow:
        return None
    return sorted({definition_of(known).type for known in _with_subclasses(workflow_class)})


def _with_subclasses(
    workflow_class: type[Workflow[Any, Any]],
) -> Iterator[type[Workflow[Any, Any]]]:
    yield workflow_class
    for child in workflow_class.__subclasses__():
        yield from _with_subclasses(child)


def _job_option(check: Any, value: Any) -> Any:
    if value is None:
        return None
    try:
        return check(value)
    except StepConfigurationError as error:
        raise InvalidInput(error.what) from None


def _key(value: object) -> str | None:
    if value is None:
        return None
    return checks.text("idempotency_key", value, longest=_MAX_KEY_LENGTH)
