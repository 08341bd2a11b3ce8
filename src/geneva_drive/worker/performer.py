"""Running flights: from a claimed execution, over user code, to a landed outcome."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.engine.claimed import Claimed, chained, with_stored_nodes
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution import executor
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.execution.result import Committed, Concluded
from geneva_drive.engine.loops.step_loop import Breaks
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import HandedOver, Lost, StepOutcome
from geneva_drive.errors import StorageError
from geneva_drive.storage.dialects.base import WriterHeld
from geneva_drive.worker.claims.prefetch import Pace
from geneva_drive.worker.committer import Committer, Pending
from geneva_drive.worker.flights import Flight, Flights
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.thread_pool import Pool

logger = logging.getLogger(__name__)

# After so many steps in one breath, or so many seconds, a chain goes back to the queue, behind what
# waited meanwhile.
MAX_CHAIN_LENGTH = 100
MAX_CHAIN_SECONDS = 1.0


@dataclass(slots=True, kw_only=True)
class Stopping:
    """How far a worker has come with ending."""

    begun: threading.Event = field(default_factory=threading.Event)
    drained: threading.Event = field(default_factory=threading.Event)  # the time to end is over


class Performer:
    """Runs flights on the pool's threads and hands what came of them to the committer."""

    def __init__(
        self,
        environment: Environment,
        identity: Identity,
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
        self._breaks = Breaks(should_stop=stopping.begun.is_set)
        self.flights = Flights()
        self._pace = Pace()
        self._leaving = 0  # flights whose outcomes are being written, and that nothing follows
        self._pool = Pool(concurrency, self._perform)
        self._committer = Committer(
            environment,
            identity,
            land=self._land,
            hand_over=self._hand_over,
            on_begun=self._leave,
            on_committed=self._pace.committed,
        )
        self.freed: queue.SimpleQueue[str] = queue.SimpleQueue()  # limits with room again
        self.is_clogged = False  # too many threads hang in bodies past their timeout

    @property
    def free(self) -> int:
        """How many executions to claim: for the free threads, and some to hold ready."""
        if not self._may_begin():
            return 0
        # The flights first: if a group lands meanwhile, there seems to be less room than there is,
        # and the bell rings. The other way round there would be room for all of it twice.
        held = len(self.flights)
        return self._concurrency + self._pace.ahead() + self._leaving - held

    def start(self) -> None:
        self._pool.start()

    def take_up(self, claimed: Iterable[Claimed]) -> int:
        """Hold what was claimed, and have it run."""
        flights = self.flights.add(claimed)
        for flight in flights:
            self._hand_over(flight)
        return len(flights)

    def give_back_waiting(self, longer_than: timedelta = timedelta(0)) -> None:
        """Give back what no thread has taken up in all that time: others may have one free."""
        since = time.monotonic() - longer_than.total_seconds()
        waiting = [flight for flight in self.flights.all() if flight.give_up_waiting(since)]
        if waiting:
            self._pace.stalled()
        for flight in waiting:
            self._report(flight, HandedOver(self._environment.clock.now()))

    def _hand_back(self, flight: Flight) -> None:
        if flight.settle():
            self._report(flight, HandedOver(self._environment.clock.now()))

    def drain(self, timeout: float) -> bool:
        """Let what runs come to its end; True if all of it did."""
        return self.flights.wait_until_empty(timeout)

    def give_back(self, patience: float) -> None:
        """Hand over what did not end in time; its late results will be dropped."""
        for flight in self.flights.all():
            self._give_back(flight)
        # Another thread may be writing them, and would be cut off by the end of the process.
        self.flights.wait_until_empty(patience)

    def close(self) -> None:
        """From now on, wait for no database that is away."""
        self._committer.close()

    def stop(self) -> None:
        self._pool.stop()

    def _hand_over(self, flight: Flight) -> None:
        if self._stopping.drained.is_set():
            self._give_back(flight)  # the claim was answered when the worker had gone
        else:
            self._pool.submit(flight)

    def _perform(self, flight: Flight) -> Flight | None:
        if self._stopping.drained.is_set():
            self._give_back(flight)  # what it follows was committed when the worker had gone
            return None
        if not self._may_begin():
            self._hand_back(flight)
            return None
        if not flight.start():
            return None
        try:
            # What was chained may come without its node. It is kept: the commit needs it too.
            # Most need none, and are not to pay for the question.
            if flight.claimed.workflow.has_graph:
                [flight.claimed] = with_stored_nodes(self._environment, [flight.claimed])
            flight.run = executor.start(self._environment, flight.claimed, self._breaks)
            if flight.run is not None and flight.run.needs_transaction:
                return self._perform_in_transaction(flight)
            performed = self._run(flight, lambda: None)
        except Exception as error:
            # Without an outcome the flight would hold its slot, and the execution, for ever.
            logger.exception("Execution %s could not be run", flight.claimed.execution.id)
            performed = Concluded(self._not_run(error))
        return self._conclude(flight, performed)

    def _perform_in_transaction(self, flight: Flight) -> Flight | None:
        # Until it is landed: it may have claimed the next one under this token.
        with self._identity.tokens.expecting() as token:
            try:
                performed = self._run(flight, lambda: self._chaining(flight, token))
            except Exception as error:
                # As without a transaction: it has to come to an outcome.
                logger.exception("Execution %s could not be run", flight.claimed.execution.id)
                performed = Concluded(self._not_run(error))
            return self._conclude(flight, performed)

    def _run(
        self, flight: Flight, may_chain: Callable[[], Chaining | None]
    ) -> Concluded | Committed:
        timer = self._start_timer(flight)
        try:
            return executor.execute(flight.run, self._environment, flight.claimed, may_chain)
        finally:
            if timer is not None:
                timer.cancel()

    def _conclude(self, flight: Flight, performed: Concluded | Committed) -> Flight | None:
        match performed:
            case Committed(applied):
                flight.settle()
                return self._land_committed(flight, applied)
            case Concluded(outcome, position) if flight.settle():
                return self._commit(flight, outcome, position)
            case Concluded():
                logger.warning(
                    "The late result of execution %s was dropped", flight.claimed.execution.id
                )
        return None

    def _not_run(self, error: Exception) -> Lost:
        # A database that was away is not counted against the step; a fault of ours is, or it
        # could go on for ever.
        is_passing = isinstance(error, StorageError | SQLAlchemyError | WriterHeld)
        limit = None if is_passing else self._environment.settings.max_recoveries
        return Lost(f"Its worker could not run it: {type(error).__name__}: {error}", limit)

    def _may_chain(self, claimed: Claimed) -> bool:
        return (
            not self._stopping.begun.is_set()
            and self._may_begin()
            and claimed.chain_length < MAX_CHAIN_LENGTH
            and time.monotonic() - claimed.chained_since < MAX_CHAIN_SECONDS
        )

    def _chaining(self, flight: Flight, token: str) -> Chaining | None:
        if not self._may_chain(flight.claimed):
            return None
        return self._identity.chaining(token, self._environment.settings.queue_limits)

    def _commit(
        self, flight: Flight, outcome: StepOutcome, position: LoopPosition | None = None
    ) -> Flight | None:
        may_chain = self._may_chain(flight.claimed)
        return self._committer.submit(Pending(flight, outcome, may_chain, position))

    def _report(self, flight: Flight, outcome: StepOutcome) -> None:
        """Commit on a thread that runs no steps."""
        following = self._commit(flight, outcome)
        if following is not None:
            self._hand_over(following)

    def _leave(self, count: int) -> None:
        """Let others be claimed while a group is written: claim and commit need not take turns."""
        self._leaving = count if self._pace.leaves else 0
        if self._leaving > self._concurrency:
            self._on_free()

    def _land(self, landed: Sequence[tuple[Flight, Claimed | None]]) -> list[Flight]:
        # Before they are out of the flights: an idle worker stops once it holds nothing.
        self._note_freed(landed)
        self._leaving = 0
        following = self.flights.replace(landed)
        self._pace.ended(len(landed), len(following))
        if len(following) < len(landed):
            self._on_free()
        return following

    def _note_freed(self, landed: Iterable[tuple[Flight, Claimed | None]]) -> None:
        for flight, _ in landed:
            for key in executor.freed_by(flight.run, flight.claimed):
                self.freed.put(key)
                self._on_free()

    def _land_committed(self, flight: Flight, applied: Applied | None) -> Flight | None:
        following = None
        if applied is not None:
            following = chained(flight.claimed, applied)
            try:
                announce(self._environment, [applied])
            except Exception:
                # It is committed: the flight has to land, or its slot would be held for ever.
                logger.exception("Nobody was told of execution %s", flight.claimed.execution.id)
        flights = self._land([(flight, following)])
        return flights[0] if flights else None

    def _start_timer(self, flight: Flight) -> threading.Timer | None:
        """Watch over a plain body with a timeout; an async one is cancelled by its loop."""
        node = flight.run.node if flight.run else None
        if node is None or node.options.timeout is None or node.is_removed or node.is_async:
            return None
        timer = threading.Timer(
            node.options.timeout.total_seconds(), self._time_out, args=(flight,)
        )
        timer.daemon = True
        timer.start()
        return timer

    def _time_out(self, flight: Flight) -> None:
        assert flight.run is not None, "only a started run is watched"
        if not flight.settle():
            return
        stuck = 0
        try:
            # First: while the outcome is committed, the body may well come to its end.
            stuck = self._pool.leave_behind(flight)
        finally:
            self._report(flight, flight.run.time_out())
        if stuck >= self._concurrency:
            logger.error("%s bodies hang past their timeout; the worker recycles itself", stuck)
            self.is_clogged = True

    def _give_back(self, flight: Flight) -> None:
        if flight.settle():
            # Not counted against the step: it is the worker that had to go.
            self._report(flight, Lost("Its worker was stopped before it ended.", None))
