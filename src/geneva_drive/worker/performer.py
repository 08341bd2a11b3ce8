"""Runs claimed executions on a pool of threads and commits their outcomes."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.engine.claimed_execution import Claimed, chained_claim, with_stored_nodes
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.crash_points import Crash, Life
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution import executor
from geneva_drive.engine.execution.body_end import Committed, Concluded, MayChain
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.transitions.outcome import HandedOver, Lost, StepOutcome
from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.database_wait import Patience, TroubleLasts
from geneva_drive.storage.dialects.trouble import WriterHeld
from geneva_drive.worker.claims.prefetch import Prefetch
from geneva_drive.worker.committer import Committer, PendingOutcome
from geneva_drive.worker.flights import Flight, Flights
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.thread_pool import Pool

logger = logging.getLogger(__name__)

# After this many steps, or seconds, the next step of a chain goes to the end of the queue.
MAX_CHAIN_LENGTH = 100
MAX_CHAIN_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Stopping:
    """The progress of a worker that stops."""

    begun: threading.Event = field(default_factory=threading.Event)
    drained: threading.Event = field(default_factory=threading.Event)  # all ended, or timed out
    life: Life = field(default_factory=Life)  # over once a test has crashed the worker


class Performer:
    """Takes each flight from its claim, through user code, to a committed outcome."""

    def __init__(
        self,
        environment: Environment,
        identity: Identity,
        flights: Flights,
        *,
        concurrency: int,
        stopping: Stopping,
        on_free: Callable[[], None],
        may_begin: Callable[[], bool],
    ) -> None:
        self._environment = environment
        self._identity = identity
        self._concurrency = concurrency
        self._stopping = stopping
        self._on_free = on_free
        self._may_begin = may_begin
        self.life = stopping.life
        self._early_stops = EarlyStops(should_stop=stopping.begun.is_set)
        self._database = environment.store.database
        self.flights = flights
        self._prefetch = Prefetch()
        self._leaving = 0  # flights being committed whose threads will then be free
        self._pool = Pool(concurrency, self._serve)
        self._committer = Committer(environment, identity)
        self.freed: queue.SimpleQueue[str] = queue.SimpleQueue()  # keys of limits with a freed slot
        self.is_clogged = False  # too many threads hang in bodies past their timeout

    @property
    def free(self) -> int:
        """How many executions to claim: for the free threads, and some ahead."""
        if not self._may_begin():
            return 0
        # Count the flights first. If a group lands meanwhile, the result is too low, and the bell
        # makes the poller read it again. In the reverse order, the group would be counted twice.
        held = len(self.flights)
        return self._concurrency + self._prefetch.ahead() + self._leaving - held

    def start(self) -> None:
        self._pool.start()

    def submit(self, claimed: Iterable[Claimed]) -> int:
        """Run claimed executions as flights; return their number."""
        flights = self.flights.add(claimed)
        for flight in flights:
            self._submit(flight)
        return len(flights)

    def release_waiting(self, longer_than: timedelta = timedelta(0)) -> None:
        """Release flights that waited `longer_than` for a thread: other workers may be free."""
        since = time.monotonic() - longer_than.total_seconds()
        waiting = [flight for flight in self.flights.all() if flight.settle_waiting(since)]
        if waiting:
            self._prefetch.stalled()
        for flight in waiting:
            self._report(flight, HandedOver(self._environment.clock.now()))

    def drain(self, timeout: float) -> bool:
        """Wait until all flights have landed; False if some have not within `timeout` seconds."""
        return self.flights.wait_until_empty(timeout)

    def release(self, patience: float) -> None:
        """Release the flights that still run; their late results will be dropped."""
        for flight in self.flights.all():
            self._release_running(flight)
        # Wait: another thread may be committing them, and the process may end after this.
        self.flights.wait_until_empty(patience)

    def close(self) -> None:
        """Try each commit only once from now on, even if the database is unreachable."""
        self._committer.close()

    def stop(self) -> None:
        self._pool.stop()

    def _submit(self, flight: Flight) -> None:
        if self._stopping.drained.is_set():
            self._release_running(flight)  # the claim was answered after the worker had drained
        else:
            self._pool.submit(flight)

    def _release_running(self, flight: Flight) -> None:
        if flight.settle():
            # No limit: a stopped worker does not count against the step.
            self._report(flight, Lost("Its worker was stopped before it ended.", None))

    def _release_unbegun(self, flight: Flight) -> None:
        if flight.settle():
            self._report(flight, HandedOver(self._environment.clock.now()))

    def _serve(self, flight: Flight) -> Flight | None:
        """Run a flight on a thread of the pool; return the thread's next flight, if any."""
        self.life.enter()
        try:
            return self._perform(flight)
        except Crash:
            self._die()
            return None

    def _die(self) -> None:
        self.flights.abandon()
        self._on_free()  # wake the poller, which then ends

    def _perform(self, flight: Flight) -> Flight | None:
        if self._stopping.drained.is_set():
            self._release_running(flight)  # it was chained after the worker had drained
            return None
        if not self._may_begin():
            self._release_unbegun(flight)
            return None
        if not flight.start():
            return None
        self.life.reached("claim")
        try:
            # A chained execution may come without its stored node, which the commit needs too.
            # Most workflows have no stored graph; this check saves them the call.
            if flight.claimed.workflow.has_graph:
                self._read_stored_node(flight)
            flight.run = executor.start(self._environment, flight.claimed, self._early_stops)
            if flight.run is not None and flight.run.needs_transaction:
                return self._perform_in_transaction(flight)
            performed = self._execute(flight, lambda: None)
        except (Exception, TroubleLasts) as error:  # noqa: BLE001 - the flight needs an outcome
            performed = self._not_run(flight, error)
        return self._conclude(flight, performed)

    def _read_stored_node(self, flight: Flight) -> None:
        with self._database.being_patient(self._new_patience()):
            [flight.claimed] = self._database.patiently(
                lambda: with_stored_nodes(self._environment, [flight.claimed])
            )

    def _perform_in_transaction(self, flight: Flight) -> Flight | None:
        # Hold the token until the flight has landed: the next execution may be claimed under it.
        with self._identity.tokens.expecting() as token:
            try:
                performed = self._execute(flight, lambda: self._chaining(flight, token))
            except (Exception, TroubleLasts) as error:  # noqa: BLE001 - as in `_perform`
                performed = self._not_run(flight, error)
            return self._conclude(flight, performed)

    def _execute(self, flight: Flight, may_chain: MayChain) -> Concluded | Committed:
        patience = self._new_patience()
        timer = self._start_timer(flight, patience)
        try:
            with self._database.being_patient(patience):
                return executor.execute(flight.run, self._environment, flight.claimed, may_chain)
        finally:
            if timer is not None:
                timer.cancel()

    def _not_run(self, flight: Flight, error: Exception | TroubleLasts) -> Concluded:
        """Return an outcome for a failed run; without one, the flight would keep its claim."""
        if isinstance(error, TroubleLasts):
            return Concluded(Lost(f"Its worker gave up waiting for the database. {error}", None))
        logger.error("Execution %s could not be run", flight.claimed.execution.id, exc_info=error)
        # A database error does not count against the step. A bug of the worker does, or the
        # execution could be repeated forever.
        is_passing = isinstance(error, StorageError | SQLAlchemyError | WriterHeld)
        limit = None if is_passing else self._environment.settings.max_recoveries
        why = f"Its worker could not run it: {type(error).__name__}: {error}"
        return Concluded(Lost(why, limit))

    def _conclude(self, flight: Flight, performed: Concluded | Committed) -> Flight | None:
        match performed:
            case Committed():
                flight.settle()
                return self._land_committed(flight, performed)
            case Concluded(outcome, position) if flight.settle():
                self.life.reached("body")
                may_chain = self._may_chain(flight.claimed)
                return self.commit(PendingOutcome(flight, outcome, may_chain, position))
            case Concluded():
                logger.warning(
                    "The late result of execution %s was dropped", flight.claimed.execution.id
                )
        return None

    def _may_chain(self, claimed: Claimed) -> bool:
        return (
            not self._stopping.begun.is_set()
            and self._may_begin()
            and claimed.chain_length < MAX_CHAIN_LENGTH
            and time.monotonic() - claimed.chained_since < MAX_CHAIN_SECONDS
        )

    def _chaining(self, flight: Flight, token: str) -> NextClaim | None:
        if not self._may_chain(flight.claimed):
            return None
        return self._identity.chaining(token, self._environment.settings.queue_limits)

    def commit(self, pending: PendingOutcome) -> Flight | None:
        """Commit an outcome, now or with the next group; return a flight to run next.

        The committing thread keeps one of the next flights for itself: passing it to another thread
        takes longer than most steps.
        """
        if not self._committer.submit(pending):
            return None
        own: Flight | None = None
        try:
            while group := self._committer.next_group():
                if own is not None:
                    self._submit(own)  # this thread is not free yet
                own = self._commit_group(group)
        except BaseException:
            self._committer.end_turn()
            raise
        return own

    def _commit_group(self, group: Sequence[PendingOutcome]) -> Flight | None:
        self.life.require()
        # Hold the token until the next claims are in the flights, or the heartbeat would release
        # them.
        with self._identity.tokens.expecting() as token:
            began_at = time.monotonic()
            self._note_leaving(len(group))
            followings = self._committer.commit(group, token)
            for pending in group:
                if pending.flight.has_started:
                    self.life.reached("commit")
            self._prefetch.committed(time.monotonic() - began_at)
            landed = [(p.flight, one) for p, one in zip(group, followings, strict=True)]
            flights = self._land(landed)
        own = flights.pop() if flights else None
        for flight in flights:
            self._submit(flight)
        return own

    def _report(self, flight: Flight, outcome: StepOutcome) -> None:
        """Commit an outcome on a thread that runs no steps."""
        try:
            following = self.commit(
                PendingOutcome(flight, outcome, self._may_chain(flight.claimed))
            )
        except Crash:
            self._die()
            return
        if following is not None:
            self._submit(following)

    def _note_leaving(self, count: int) -> None:
        """Count the threads of a committing group as free, so that the poller claims meanwhile."""
        self._leaving = count if self._prefetch.leaves else 0
        if self._leaving > self._concurrency:
            self._on_free()

    def _land(self, landed: Sequence[tuple[Flight, Claimed | None]]) -> list[Flight]:
        # Note freed slots before removing the flights: without flights, an idle worker may stop.
        self._note_freed(landed)
        self._leaving = 0
        following = self.flights.replace(landed)
        self._prefetch.ended(len(landed), len(following))
        if len(following) < len(landed):
            self._on_free()
        return following

    def _note_freed(self, landed: Iterable[tuple[Flight, Claimed | None]]) -> None:
        for flight, _ in landed:
            for key in executor.freed_limit_keys(flight.run, flight.claimed):
                self.freed.put(key)
                self._on_free()

    def _land_committed(self, flight: Flight, committed: Committed) -> Flight | None:
        following, applied = None, committed.applied
        if applied is not None:
            following = chained_claim(flight.claimed, applied)
            try:
                announce(self._environment, [applied])
            except Exception:
                # It is committed: the flight has to land, or it would occupy a thread forever.
                logger.exception("Execution %s was not announced", flight.claimed.execution.id)
        if committed.has_run:
            self.life.reached("commit")
        flights = self._land([(flight, following)])
        return flights[0] if flights else None

    def _new_patience(self) -> Patience:
        return Patience(self._environment.settings.lease, self._stopping.begun.is_set)

    def _start_timer(self, flight: Flight, patience: Patience) -> threading.Timer | None:
        """Watch a synchronous body with a timeout; the event loop cancels an async one."""
        node = flight.run.node if flight.run else None
        if node is None or node.options.timeout is None or node.is_removed or node.is_async:
            return None
        return self._time_out_after(node.options.timeout.total_seconds(), flight, patience)

    def _time_out_after(
        self, seconds: float, flight: Flight, patience: Patience
    ) -> threading.Timer:
        timer = threading.Timer(seconds, self._time_out, args=(flight, patience, patience.waited))
        timer.daemon = True
        timer.start()
        return timer

    def _time_out(self, flight: Flight, patience: Patience, waited_before: float) -> None:
        assert flight.run is not None, "only a started run is watched"
        if patience.waited > waited_before:
            # The time for which the step waited for the database does not count.
            self._time_out_after(patience.waited - waited_before, flight, patience)
            return
        if not flight.settle():
            return
        stuck = 0
        try:
            # Replace the thread before the commit: the body may end during the commit.
            stuck = self._pool.leave_behind(flight)
        finally:
            self._report(flight, flight.run.time_out())
        if stuck >= self._concurrency:
            logger.error("%s bodies hang past their timeout; the worker recycles itself", stuck)
            self.is_clogged = True
