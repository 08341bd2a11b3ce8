"""A worker: claims what is due, runs it on its threads, commits what came of it."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Self

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from geneva_drive.engine import performing, recovery, unparking
from geneva_drive.engine.commit import Applied, Chaining
from geneva_drive.engine.committing import announce
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.executor import Claimed, continued
from geneva_drive.engine.outcome import Lost, StepOutcome
from geneva_drive.engine.performing import Committed, Concluded
from geneva_drive.errors import InvalidInput, InvalidStateError, StorageError
from geneva_drive.storage.dialects.base import WriterHeld
from geneva_drive.worker.claiming import claim_due
from geneva_drive.worker.committer import Committer, Pending
from geneva_drive.worker.flights import Flight, Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.housekeeping import wake_due
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.pool import Pool
from geneva_drive.worker.service import Periodic

logger = logging.getLogger(__name__)

# After so many steps in one breath a chain goes back to the queue, behind what waited meanwhile.
MAX_CHAIN_LENGTH = 100
_FIRST_REST = 0.01
_LAST_COMMIT = 5.0  # seconds that giving back may take when the worker stops


class Worker:
    """Runs the steps of every workflow class that this process has imported.

    Use it as a context manager beside an application, or `run()` it as the whole process; both
    end politely: what runs is given `drain_timeout` to end, the rest is given back.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        queues: Iterable[str] | None = None,
        concurrency: int = 8,
    ) -> None:
        if concurrency < 1:
            raise InvalidInput(f"A worker's concurrency is from 1 up, not {concurrency!r}.")
        self._environment = environment
        self.identity = Identity(queues=None if queues is None else frozenset(queues))
        self._flights = Flights(concurrency)
        self._concurrency = concurrency
        self._pool = Pool(concurrency, self._perform)
        self._committer = Committer(environment, self.identity)
        self._heartbeat = Heartbeat(environment, self.identity, self._flights)
        self._bell = threading.Event()
        self._stopping = threading.Event()
        self._drained = threading.Event()  # the time to end by oneself is over
        self._stopped = threading.Event()
        self._idle = threading.Event()
        self._stop_requests: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._poller = threading.Thread(target=self._poll, name="geneva-poller", daemon=True)
        settings = environment.settings
        self._services = [
            Periodic("heartbeat", settings.heartbeat_interval, self._heartbeat.beat),
            Periodic("recovery", settings.heartbeat_interval, self._take_back),
        ]
        self._freed: queue.SimpleQueue[str] = queue.SimpleQueue()  # limits with room again
        self._started = False
        self._wakes_sleepers_at = time.monotonic()
        self.needs_recycling = False  # too many threads hang in bodies past their timeout

    def start(self) -> None:
        """Begin to work, on threads of its own."""
        if self._started:
            raise InvalidStateError("This worker was started before; make a new one.")
        self._heartbeat.register()
        self._started = True
        self._leave_bell = self._environment.wakeups.listen(self._bell)
        self._pool.start()
        for service in self._services:
            service.start()
        self._poller.start()

    def stop(self) -> None:
        """End politely: drain for `drain_timeout`, then give back what still runs."""
        if not self._started:
            return
        if self._stopping.is_set():
            self._stopped.wait()
            return
        self._stopping.set()
        self._bell.set()
        try:
            self._wind_down()
        finally:
            self._stopped.set()

    def _wind_down(self) -> None:
        # Nothing here waits without end: the database may not even say that it is away.
        self._poller.join(_LAST_COMMIT)
        drain_timeout = self._environment.settings.drain_timeout.total_seconds()
        all_landed = self._flights.wait_until_empty(drain_timeout)
        self._drained.set()
        self._committer.close()
        if not all_landed:
            _do_within(_LAST_COMMIT, self._give_back_running)
        self._pool.stop()
        for service in reversed(self._services):
            service.stop(timeout=_LAST_COMMIT)
        self._leave_bell()
        _do_within(_LAST_COMMIT, self._sign_off)

    def _sign_off(self) -> None:
        try:
            self._heartbeat.end()
        except (StorageError, DBAPIError) as error:
            logger.warning("The worker could not sign off: %s", error)

    def request_stop(self) -> None:
        """Ask `run()` to end; safe to call from a signal handler."""
        # Not an event: its lock may be held by the very thread that the signal interrupts.
        self._stop_requests.put(None)

    def run(self) -> None:
        """Work until `stop()` or `request_stop()` is called."""
        with self:
            while not (self._stopping.is_set() or self.needs_recycling):
                with contextlib.suppress(queue.Empty):
                    self._stop_requests.get(timeout=0.5)
                    return

    def run_until_idle(self) -> None:
        """Work until nothing is due any more, and nothing runs."""
        self._stops_when_idle = True
        with self:
            self._idle.wait()

    _stops_when_idle = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _poll(self) -> None:
        rest = _FIRST_REST
        longest = self._environment.settings.poll_interval.total_seconds()
        while not self._stopping.is_set():
            self._bell.clear()
            try:
                took = self._claim()
                rest = _FIRST_REST if took else min(rest * 2, longest)
                pause = self._pause(took, rest, longest)
            except Exception:
                # A database that is away is waited for; the heartbeat reports it as well.
                logger.exception("Claiming failed; next try in %ss", longest)
                self._stopping.wait(longest)
                continue
            if pause:
                self._bell.wait(pause)

    def _pause(self, took: int, rest: float, longest: float) -> float:
        """Say how long to rest, unless somebody rings: not at all while there may be more."""
        if self._flights.free < 1:
            return longest
        return 0.0 if took else self._until_next(rest)

    def _claim(self) -> int:
        # Before anything else: what lands while it looks around may leave something due behind.
        nothing_runs = not self._flights.ids()
        self._wake_sleepers()
        self._wake_parked()
        free = self._flights.free
        if free < 1:
            return 0
        took = self._take(free)
        if took < free and wake_due(self._environment, self.identity.served_queues()):
            took += self._take(free - took)
        if not took and nothing_runs and self._stops_when_idle:
            self._idle.set()
        return took

    def _take(self, limit: int) -> int:
        with self.identity.tokens.expecting() as token:
            claimed = claim_due(self._environment, self.identity, limit, token)
            flights = [self._flights.add(one) for one in claimed]
        for flight in flights:
            self._submit(flight)
        return len(flights)

    def _wake_sleepers(self) -> None:
        """Make due sleepers claimable now and then, however much else there is to claim."""
        now = time.monotonic()
        if now >= self._wakes_sleepers_at:
            wake_due(self._environment, self.identity.served_queues())
            self._wakes_sleepers_at = now + self._environment.settings.poll_interval.total_seconds()

    def _wake_parked(self) -> None:
        """Let those ask again who wait for what has landed here."""
        freed: set[str] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                freed.add(self._freed.get_nowait())
        try:
            unparking.wake_for(self._environment, freed, self.identity.served_queues())
        except BaseException:
            for key in freed:
                self._freed.put(key)  # for the next round: nobody else knows of them
            raise

    def _until_next(self, rest: float) -> float:
        """Rest no longer than to the moment at which the next sleeper wakes."""
        store = self._environment.store
        with store.reading() as connection:
            moments = (
                store.executions.next_wake(connection),
                store.limits.next_wake(connection),
            )
        wakes_at = min((moment for moment in moments if moment is not None), default=None)
        if wakes_at is None:
            return rest
        until = (wakes_at - self._environment.clock.now()) / timedelta(seconds=1)
        return max(0.001, min(rest, until))

    def _submit(self, flight: Flight) -> None:
        if self._drained.is_set():
            self._give_back(flight)  # the claim was answered when the worker had gone
        else:
            self._pool.submit(flight)

    def _perform(self, flight: Flight) -> None:
        if flight.is_settled:
            return  # given back before a thread was free for it
        # Until it is landed: a step with its own transaction may have claimed the next one.
        with self.identity.tokens.expecting() as token:
            self._perform_and_land(flight, token)

    def _perform_and_land(self, flight: Flight, token: str) -> None:
        claimed = flight.claimed
        try:
            performed = self._run(flight, token)
        except Exception as error:
            # Without an outcome the flight would hold its slot, and the execution, for ever.
            logger.exception("Execution %s could not be run", claimed.execution.id)
            performed = Concluded(self._not_run(error))
        match performed:
            case Committed(applied):
                flight.settle()
                self._land_committed(flight, applied)
            case Concluded(outcome) if flight.settle():
                self._commit(flight, outcome)
            case Concluded():
                logger.warning("The late result of execution %s was dropped", claimed.execution.id)

    def _run(self, flight: Flight, token: str) -> Concluded | Committed:
        flight.run = performing.start(self._environment, flight.claimed)
        timer = self._start_timer(flight)
        try:
            return performing.perform(
                flight.run, self._environment, flight.claimed, lambda: self._chaining(flight, token)
            )
        finally:
            if timer is not None:
                timer.cancel()

    def _not_run(self, error: Exception) -> Lost:
        # A database that was away is not counted against the step; a fault of ours is, or it
        # could go on for ever.
        is_passing = isinstance(error, StorageError | SQLAlchemyError | WriterHeld)
        limit = None if is_passing else self._environment.settings.max_recoveries
        return Lost(f"Its worker could not run it: {type(error).__name__}: {error}", limit)

    def _may_chain(self, claimed: Claimed) -> bool:
        return not self._stopping.is_set() and claimed.chain_length < MAX_CHAIN_LENGTH

    def _chaining(self, flight: Flight, token: str) -> Chaining | None:
        if not self._may_chain(flight.claimed):
            return None
        return Chaining(
            worker_id=self.identity.id,
            claim_token=token,
            types=self.identity.served_types(),
            queues=self.identity.queues,
            limited_queues=self._environment.settings.queue_limits,
        )

    def _commit(self, flight: Flight, outcome: StepOutcome) -> None:
        self._committer.submit(
            Pending(
                claimed=flight.claimed,
                outcome=outcome,
                may_chain=self._may_chain(flight.claimed),
                done=lambda following: self._land(flight, following),
            )
        )

    def _land(self, flight: Flight, following: Claimed | None) -> None:
        # Before it is out of the flights: an idle worker stops once it holds nothing.
        freed = performing.freed_by(flight.run, flight.claimed)
        for key in freed:
            self._freed.put(key)
        if freed:
            self._bell.set()
        next_flight = self._flights.replace(flight, following)
        if next_flight is None:
            self._bell.set()
        else:
            self._submit(next_flight)

    def _land_committed(self, flight: Flight, applied: Applied | None) -> None:
        following = None
        if applied is not None:
            announce(self._environment, [applied])
            if applied.chained is not None:
                following = continued(flight.claimed, applied.workflow, applied.chained)
        self._land(flight, following)

    def _start_timer(self, flight: Flight) -> threading.Timer | None:
        """Watch over a plain body with a timeout; an async one is cancelled by its loop."""
        node = flight.run.node if flight.run else None
        if node is None or node.is_removed or node.is_async or node.options.timeout is None:
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
        self._commit(flight, flight.run.time_out())
        stuck = self._pool.leave_behind(flight)
        if stuck >= self._concurrency:
            logger.error("%s bodies hang past their timeout; the worker recycles itself", stuck)
            self.needs_recycling = True

    def _take_back(self) -> None:
        if self._heartbeat.may_judge and recovery.take_back(self._environment):
            self._bell.set()

    def _give_back_running(self) -> None:
        """Hand over what did not end in time; its late results will be dropped."""
        for flight in self._flights.all():
            self._give_back(flight)
        # Another thread may be writing them, and would be cut off by the end of the process.
        self._flights.wait_until_empty(_LAST_COMMIT)

    def _give_back(self, flight: Flight) -> None:
        if flight.settle():
            # Not counted against the step: it is the worker that had to go.
            self._commit(flight, Lost("Its worker was stopped before it ended.", None))


def _do_within(seconds: float, action: Callable[[], None]) -> None:
    """Do something on a thread that may be left behind if it takes too long."""
    thread = threading.Thread(target=action, name="geneva-leaving", daemon=True)
    thread.start()
    thread.join(seconds)
