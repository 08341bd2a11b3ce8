"""The Drive: a database with its settings, and everything a caller can do with them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, Unpack

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from geneva_drive import checks
from geneva_drive.clock import Clock, checked_clock
from geneva_drive.definition.actor import Actor
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.drive import joined_transaction, publication
from geneva_drive.drive.access.api_keys import Keys
from geneva_drive.drive.access.roles import Roles
from geneva_drive.drive.activity.activity import ActivityChart, activity_chart
from geneva_drive.drive.activity.overview import overview
from geneva_drive.drive.activity.overview_rows import Overview
from geneva_drive.drive.activity.queues import QueueDepth, queue_depths
from geneva_drive.drive.approvals.approvals import Approvals
from geneva_drive.drive.bulk.bulk import BulkCommands
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.drive.dead_letters import DeadLetters
from geneva_drive.drive.definitions.known_types import (
    KnownType,
    context_schema,
    list_known_types,
)
from geneva_drive.drive.definitions.named_workflows import NamedWorkflows
from geneva_drive.drive.explanation.explanation import explain_many
from geneva_drive.drive.failures.failures import FailureGroup, failure_groups
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.joined_transaction import AsyncJoinedTransaction, JoinedTransaction
from geneva_drive.drive.publication import PublishedEvent, PublishOptions
from geneva_drive.drive.schedules import Schedules
from geneva_drive.drive.search.queries import ExecutionQuery
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.durations import Duration
from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.wakeups import Wakeups
from geneva_drive.errors import InvalidInput
from geneva_drive.settings import Settings
from geneva_drive.states import StepState
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.connections.database_file import explain_file_errors
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.schema.records import ExecutionRecord, WorkerRecord, WorkflowRecord
from geneva_drive.storage.store import Store, open_store
from geneva_drive.telemetry import Events
from geneva_drive.worker.housekeeping.duties import housekeep
from geneva_drive.worker.housekeeping.retention import prune
from geneva_drive.worker.worker import Queues, Worker

W = TypeVar("W", bound=Workflow[Any, Any])


class Drive(NamedWorkflows):
    """A database with its settings, on which workflows run.

    The Drive connects when it is first used. `migrate()` creates the tables.

    >>> import geneva_drive as gd
    >>> drive = gd.Drive("sqlite:///doctest.db", lease="90s")
    >>> drive.settings.lease
    datetime.timedelta(seconds=90)
    """

    def __init__(self, url_or_engine: str | URL | Engine, **settings: Any) -> None:
        self.settings = Settings.read(settings, os.environ)
        self.events = Events()
        self._database = Database(url_or_engine, self.settings)
        self._clock = self.settings.clock
        self._environment: Environment | None = None
        self._opening = threading.Lock()
        self._keys = Keys(self)

    @property
    def engine(self) -> Engine:
        return self._database.engine

    @property
    def database_url(self) -> str:
        """The URL of the database, without the password."""
        return self._database.url

    @property
    def clock(self) -> Clock:
        return self._clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self._clock = checked_clock("Drive.clock", clock)
        if self._environment is not None:
            self._environment.clock = self._clock

    @property
    def environment(self) -> Environment:
        """The engine's environment; opened at first use, which checks the tables."""
        if self._environment is None:
            with self._opening, explain_file_errors(self.engine):
                if self._environment is None:
                    self._environment = Environment(
                        store=open_store(self._database, self.settings.table_prefix),
                        settings=self.settings,
                        clock=self._clock,
                        events=self.events,
                        open_handle=self.open_handle,
                        wakeups=Wakeups(self._hints()),
                    )
        return self._environment

    @property
    def is_open(self) -> bool:
        """True if the tables were checked, so that the next call needs no query for that."""
        return self._environment is not None

    def _hints(self) -> Hints:
        if not self.settings.notify:
            return Hints()
        return self._database.hints(f"{self.settings.table_prefix}due")

    @property
    def store(self) -> Store:
        return self.environment.store

    def migrate(self) -> tuple[str | None, str]:
        """Create or upgrade the tables; return the revision before and after.

        It is safe to run again, and in several processes at the same time.
        """
        # Only migrations need Alembic, which takes longer to import than the rest together.
        from geneva_drive.storage import migrator

        with explain_file_errors(self.engine):
            return migrator.migrate(self._database, self.settings.table_prefix)

    def migration_sql(self) -> str:
        """Return the SQL that `migrate()` would execute."""
        from geneva_drive.storage import migrator

        return migrator.migration_sql(self._database, self.settings.table_prefix)

    def workflows(self, workflow_class: type[W]) -> ClassWorkflows[W]:
        """Create and find workflows of a class, like `workflow_class.using(drive)`."""
        return ClassWorkflows(self, workflow_class)

    def executions(
        self,
        state: str | None = None,
        type: str | None = None,
        queue: str | None = None,
    ) -> ExecutionQuery:
        """Query the step executions of all workflows."""
        given: dict[str, str] = {}
        if state is not None:
            given["state"] = checks.choice("executions(state=...)", state, tuple(StepState))
        if type is not None:
            given["type"] = checks.text("executions(type=...)", type)
        if queue is not None:
            given["queue"] = checks.text("executions(queue=...)", queue)
        return ExecutionQuery(self, given)

    def worker(self, queues: Queues | None = None, concurrency: int = 8) -> Worker:
        """Create a worker for the workflow classes that this process has imported.

        It serves all queues, or those in `queues`. A mapping also limits how many steps of a
        queue run at once: `queues={"mail": 2, "default": None}`.

        >>> import geneva_drive as gd
        >>> drive = gd.configure("sqlite:///doctest.db")
        >>> _ = drive.migrate()
        >>> with drive.worker(concurrency=4):
        ...     pass  # the application runs here
        """
        return Worker(self.environment, queues=queues, concurrency=concurrency)

    def housekeep(self) -> int:
        """Do one round of a worker's housekeeping; return how many rows changed.

        It wakes sleeping executions, fires due schedules, reschedules the executions of dead
        workers and orphaned workflows, and deletes old workflows if the setting `retention` is set.
        It is safe while workers do the same.
        """
        return housekeep(self.environment)

    def prune(
        self,
        older_than: Duration | None = None,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Delete workflows that ended longer than `older_than` ago; return how many.

        `older_than` defaults to the setting `retention`. Workflows are deleted in small batches;
        `progress` is called after each with the number deleted in it.
        """
        span = self.settings.retention
        if older_than is not None:
            span = checks.duration("prune(older_than=...)", older_than)
        if progress is not None and not callable(progress):
            raise InvalidInput(f"prune(progress=...) must be a function, got {shown(progress)}.")
        if span is None:
            raise InvalidInput("prune() needs older_than=..., or the setting retention.")
        return prune(self.environment, span, progress)

    def publish(  # noqa: PLR0913 - the contract's optional keywords
        self,
        type: str,
        payload: Any = None,
        *,
        id: str | None = None,
        source: str = "api",
        key: object = None,
        ttl: Duration = publication.DEFAULT_TTL,
        actor: str | None = None,
        reason: str | None = None,
        session: JoinedTransaction | None = None,
    ) -> PublishedEvent:
        """Store an event, and deliver it to the waits and triggers of its type and key.

        If the source has published this `id` before, nothing changes (`duplicate`). Waits that
        begin within `ttl` hear the event, too. With an `actor`, the audit trail records who
        published it and why. With `session`, or in a step with `transaction=True`, it is published
        if that transaction commits.
        """
        new = publication.checked(self, type, payload, id=id, source=source, key=key, ttl=ttl)
        way_out = "await drive.apublish(..., session=session)"
        joined = joined_transaction.opened(session, way_out, call="publish")
        return publication.publish(self, new, joined, publication.act_of(actor, reason))

    async def apublish(
        self,
        type: str,
        payload: Any = None,
        *,
        session: AsyncJoinedTransaction | None = None,
        **options: Unpack[PublishOptions],
    ) -> PublishedEvent:
        """Publish an event from async code, with the keywords of `publish`.

        If the call is cancelled, its thread may still store the event: repeat it with the same
        `id`.
        """
        if session is None:
            return await asyncio.to_thread(partial(self.publish, type, payload, **options))
        if not self.is_open:
            await asyncio.to_thread(lambda: self.environment)
        return await joined_transaction.run_joined(
            session, lambda joined: self.publish(type, payload, session=joined, **options)
        )

    def callback(self, token: str, payload: Any = None) -> PublishedEvent:
        """Receive a callback; the token is the last part of its `callback_url`.

        A second call has no effect (`duplicate`). Raises `NotFound` for an unknown token, and
        `InvalidStateError` if the step ended without it.
        """
        return publication.receive_callback(self, token, payload)

    def published(
        self, type: str | None = None, key: object = None, *, limit: int = 50
    ) -> list[PublishedEvent]:
        """Return the latest events that are still stored, newest first."""
        return publication.latest(self, type, key, limit)

    def published_event(self, number: object) -> PublishedEvent:
        """Return one event; raises `NotFound` if there is none, or it was removed."""
        return publication.require(self, number)

    def failures(self, since: Duration | datetime = "24h") -> list[FailureGroup]:
        """Return the failures since then, in groups of the same step and error.

        Workflows that are paused by a failure are included whatever their age. The groups that
        need an operator come first.
        """
        return failure_groups(self, since)

    @property
    def bulk(self) -> BulkCommands:
        """Run one command on many workflows: `drive.bulk("resume", {"type": "Order"})`."""
        return BulkCommands(self)

    def activity(
        self, last: Duration = "1h", buckets: int = 60, type: str | None = None
    ) -> ActivityChart:
        """Return how many steps were done and failed in each part of the last hour, day or week.

        Workers count each minute after it has ended. An execution is not counted if its outcome is
        committed more than ten minutes after it ended, or if its workflow was deleted before.
        """
        wanted = None if type is None else checks.text("activity(type=...)", type)
        return activity_chart(self, last, buckets, wanted)

    def overview(self, actor: Actor | None = None) -> Overview:
        """Return the front page: who acts next, such as a person, an operator or a worker.

        The approvals that `actor` may decide come first. The number of statements does not depend
        on the number of workflows.
        """
        return overview(self, actor)

    def known_types(self) -> list[KnownType]:
        """Return the types of workflows that this process or a running worker knows."""
        return list_known_types(self)

    def context_schema(self, type: str) -> dict[str, Any]:
        """Return the JSON Schema of the contexts of a type; empty if it declares none.

        Raises `NotFound` if this process has not imported the class.
        """
        return context_schema(checks.text("context_schema(type)", type))

    def queues(self) -> list[QueueDepth]:
        """Return the queues that have work: what is due, running and held back by limits."""
        return queue_depths(self)

    @property
    def approvals(self) -> Approvals:
        """The requests for approval, pending and decided."""
        return Approvals(self)

    @property
    def schedules(self) -> Schedules:
        """The schedules of workflow classes, and their runs."""
        return Schedules(self)

    @property
    def dead_letters(self) -> DeadLetters:
        """The workflows that need an operator."""
        return DeadLetters(self)

    @property
    def keys(self) -> Keys:
        """The API keys of programs."""
        return self._keys

    @property
    def roles(self) -> Roles:
        """The roles, and the permissions that they grant."""
        return Roles(self)

    @property
    def workers(self) -> list[WorkerRecord]:
        """The workers with a recent heartbeat."""
        store, lease = self.store, self.settings.lease
        return store.read(lambda connection: store.workers.all(connection, lease))

    def open_handle(
        self,
        record: WorkflowRecord,
        active: tuple[ExecutionRecord, ...] | None = None,
        *,
        may_be_uncommitted: bool = False,
    ) -> WorkflowHandle[Any]:
        return WorkflowHandle(self, record, active, may_be_uncommitted=may_be_uncommitted)

    def open_execution(self, record: ExecutionRecord) -> StepExecution:
        store = self.store
        return StepExecution(
            record,
            lambda key, last: store.read(
                lambda c: (
                    store.checkpoints.of_execution(c, key)
                    if last is None
                    else store.checkpoints.latest(c, key, last, besides=SKIPPED_ITEM)
                )
            ),
            self.settings.masked_fields,
        )

    def explain(self, record: WorkflowRecord, active: Sequence[ExecutionRecord]) -> str:
        """Return the sentence of `why()`; for a dynamic workflow, `active` are the oldest few."""
        return explain_many(self, [(record, active)])[0]

    def wake_workers(self) -> None:
        """Wake the workers, because an execution may have become due."""
        if self._environment is not None:
            self._environment.wakeups.ring()

    def close(self) -> None:
        """Close connections and threads; an engine that the caller passed in stays open."""
        if self._environment is not None:
            self._environment.loop.close()
            self._environment = None
        self._database.close()

    def __repr__(self) -> str:
        return f"<Drive {self.database_url}>"
