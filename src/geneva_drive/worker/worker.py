"""A worker: claims due executions, runs them on its threads, and commits their outcomes."""

from __future__ import annotations

import contextlib
import importlib
import logging
import queue
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from typing import Self

from sqlalchemy.exc import DBAPIError

from geneva_drive import checks
from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.dynamic import jobs
from geneva_drive.display import shown
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.events import event_starts
from geneva_drive.errors import (
    DatabaseBusy,
    DatabaseUnavailable,
    InvalidInput,
    InvalidStateError,
    StorageError,
)
from geneva_drive.worker import unused_queues
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.housekeeping.duties import duties
from geneva_drive.worker.housekeeping.duty import Duty
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.listener import Listener
from geneva_drive.worker.performer import Performer, Stopping
from geneva_drive.worker.poller import Poller
from geneva_drive.worker.service import Periodic, Service

logger = logging.getLogger(__name__)

_RETRY_BEAT_AFTER = timedelta(seconds=1)
_MOST_THREADS = 10_000
_LAST_COMMIT = 5.0  # seconds that the release of claims may take when the worker stops


# Names of queues, or a cap for each: how many of its executions run at once (None: no cap).
Queues = Iterable[str] | Mapping[str, int | None]


class Worker:
    """Runs the steps of every workflow class that this process has imported.

    Use it as a context manager beside an application, or `run()` it as the whole process. Both
    stop gracefully: running steps have `drain_timeout` to end, then they are released.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        queues: Queues | None = None,
        concurrency: int = 8,
    ) -> None:
        checks.whole_number(
            "A worker's concurrency", concurrency, at_least=1, at_most=_MOST_THREADS
        )
        self._environment = environment
        self.identity = Identity(queues=_names(queues), caps=_caps(queues))
        self._bell = threading.Event()
        self._starts_bell = threading.Event()  # an event may have to start a workflow
        self._stopping = Stopping()
        self._life = self._stopping.life
        flights = Flights()
        self._heartbeat = Heartbeat(environment, self.identity, flights)
        self._performer = Performer(
            environment,
            self.identity,
            flights,
            concurrency=concurrency,
            stopping=self._stopping,
            on_free=self._bell.set,
            may_begin=self._heartbeat.is_within_lease,
        )
        self._poller = Poller(environment, self.identity, self._performer, self._bell)
        self._stopped = threading.Event()
        self._stop_requests: queue.SimpleQueue[None] = queue.SimpleQueue()
        settings, log = environment.settings, environment.store.database.trouble_log
        self._services: list[Service] = [
            Periodic(
                "heartbeat",
                settings.heartbeat_interval,
                self._beat,
                log,
                after_failure=_RETRY_BEAT_AFTER,  # past the lease, no step begins without it
            ),
            *(
                Periodic(
                    duty.name,
                    duty.every,
                    partial(self._do, duty),
                    log,
                    # At a random time: otherwise all duties of all workers would reach the database
                    # together each time, and steps would wait for them.
                    first_after=duty.every * (1 + random.random()),
                    bell=self._starts_bell if duty.is_rung else None,
                )
                for duty in duties(settings, self._heartbeat.may_judge)
            ),
        ]
        self._started = False

    @property
    def needs_recycling(self) -> bool:
        """True if the worker should restart, because too many threads hang past their timeouts."""
        return self._performer.is_clogged

    def _has_triggered_documents(self) -> bool:
        """True if an event may start a document, or if the database does not answer."""
        documents, store = self._environment.triggered_documents, self._environment.store
        try:
            documents.refresh(store)
            return bool(documents.by_event(store))
        except (DatabaseBusy, DatabaseUnavailable) as error:
            # Housekeeping reads them again.
            store.database.trouble_log.met(error)
            return True

    def start(self) -> None:
        """Start the worker's threads."""
        if self._started:
            raise InvalidStateError("This worker was started before; make a new one.")
        # If a step's thread imported SQLAlchemy's ORM later, statements of other threads would fail
        # meanwhile.
        importlib.import_module("sqlalchemy.orm")
        served = self.identity.queues or ()
        own = [one for one in registry.definitions() if one.type not in RESERVED_TYPES]
        unused_queues.warn_about(served, own, jobs.entries())
        self._heartbeat.register()
        triggers = event_starts.triggered()
        event_starts.register(self._environment, triggers)
        # Without triggers, the thread that starts workflows sleeps through all hints.
        is_triggered = self._has_triggered_documents() or bool(triggers)
        self._started = True
        bells = [self._bell, self._starts_bell] if is_triggered else [self._bell]
        self._leave_bells = [self._environment.wakeups.listen(bell) for bell in bells]
        self._performer.start()
        watch = self._environment.wakeups.hints.watch(
            self._hear if is_triggered else self._poller.hear
        )
        if watch is not None:
            self._services.append(Listener(watch))
        for service in self._services:
            service.start()
        self._life.begin(self.stop)
        self._poller.start()

    def stop(self) -> None:
        """Stop gracefully: drain for `drain_timeout`, then release what still runs."""
        if not self._started:
            return
        if self._stopping.begun.is_set():
            self._stopped.wait()
            return
        self._stopping.begun.set()
        try:
            self._wind_down()
        finally:
            self._life.end()
            self._stopped.set()

    def _wind_down(self) -> None:
        # Every wait here has a limit: a database may be silent instead of refusing.
        self._poller.stop(_LAST_COMMIT)
        _do_within(_LAST_COMMIT, self._performer.release_waiting)
        all_landed = self._performer.drain(self._environment.settings.drain_timeout.total_seconds())
        self._stopping.drained.set()
        self._performer.close()
        if not all_landed:
            _do_within(_LAST_COMMIT, lambda: self._performer.release(_LAST_COMMIT))
        self._performer.stop()
        for service in reversed(self._services):
            service.stop(timeout=_LAST_COMMIT)
        for leave in self._leave_bells:
            leave()
        if not self._life.is_over:
            _do_within(_LAST_COMMIT, self._sign_off)

    def _sign_off(self) -> None:
        try:
            self._heartbeat.end()
        except (StorageError, DBAPIError) as error:
            logger.warning("The worker could not deregister: %s", error)

    def request_stop(self) -> None:
        """Ask `run()` to end; safe to call from a signal handler."""
        # Not an event: its lock may be held by the very thread that the signal interrupts.
        self._stop_requests.put(None)

    def run(self) -> None:
        """Work until `stop()` or `request_stop()` is called."""
        with self:
            while not (self._stopping.begun.is_set() or self.needs_recycling or self._life.is_over):
                with contextlib.suppress(queue.Empty):
                    self._stop_requests.get(timeout=0.5)
                    return

    def run_until_idle(self) -> None:
        """Work until nothing is due and nothing runs."""
        with self:
            self._poller.found_nothing.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _hear(self, named: str | None) -> None:
        self._poller.hear(named)
        self._starts_bell.set()

    def _beat(self) -> None:
        if not self._life.is_over:
            self._heartbeat.beat()

    def _do(self, duty: Duty) -> None:
        if not self._life.is_over and duty.do(self._environment):
            self._bell.set()


def _names(queues: object) -> frozenset[str] | None:
    if queues is None:
        return None
    if not isinstance(queues, Iterable) or isinstance(queues, str | bytes):
        raise InvalidInput(f"queues must be a list of names, not {shown(queues)}.")
    return frozenset(checks.text("The name of a worker's queue", name) for name in queues)


def _caps(queues: Queues | None) -> dict[str, int]:
    if not isinstance(queues, Mapping):
        return {}
    caps = {name: cap for name, cap in queues.items() if cap is not None}
    for name, cap in caps.items():
        checks.whole_number(f"Queue {name!r}: the limit", cap, at_least=1)
    return caps


def _do_within(seconds: float, action: Callable[[], None]) -> None:
    """Run an action on a thread, and return without it if it takes too long."""
    thread = threading.Thread(target=action, name="geneva-leaving", daemon=True)
    thread.start()
    thread.join(seconds)
