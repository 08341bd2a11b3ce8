"""The polling loop: claim due executions while threads are free, and rest while none is due."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from datetime import timedelta
from enum import Enum, auto

from geneva_drive.engine.environment import Environment
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.claims.fairness import Turns, find_behind
from geneva_drive.worker.housekeeping.timers import Timers
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.performer import Performer
from geneva_drive.worker.service import report_failure

_FIRST_REST = 0.01
_GATHERED = 0.01
_LIVELY_FOR = 0.5
_GROWTH, _TOLD_GROWTH = 2, 10  # how fast the rest grows, without hints and with hints
# An execution that was claimed ahead and waited this long for a thread is released.
_LONGEST_WAIT = timedelta(seconds=1)


class PollResult(Enum):
    """What a round of the poller found."""

    NOTHING = auto()
    SOME = auto()  # and no more is due now
    MORE = auto()  # perhaps more than the free threads could take


class Poller:
    """A thread that claims for the whole worker; setting the bell ends its rest."""

    def __init__(
        self,
        environment: Environment,
        identity: Identity,
        performer: Performer,
        bell: threading.Event,
    ) -> None:
        self._environment = environment
        self._identity = identity
        self._performer = performer
        self._bell = bell
        self._trouble_log = environment.store.database.trouble_log
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="geneva-poller", daemon=True)
        self._timers = Timers(environment, identity.served_queues())
        self._claimed_at = self._found_at = -math.inf
        self._told_at: float | None = None  # when another process sent a hint
        self._heard: list[str | None] = []  # one entry per hint: the execution it names, or None
        self._turns = Turns()
        self._was_idle = False  # in the last round nothing ran and nothing was due
        self.found_nothing = threading.Event()  # nothing runs, and nothing is left to claim

    def hear(self, named: str | None) -> None:
        """Note a hint from another process; it may name the execution that is due."""
        self._told_at = time.monotonic()
        self._heard.append(named)
        self._bell.set()

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float) -> None:
        self._stopping.set()
        self._bell.set()
        self._thread.join(timeout)

    def _poll(self) -> None:
        rest, has_failed = _FIRST_REST, False
        longest = self._environment.settings.poll_interval.total_seconds()
        while not (self._stopping.is_set() or self._performer.life.is_over):
            self._bell.clear()
            try:
                found = self._claim()
                rest = self._next_rest(found, rest, longest)
                pause = self._pause(found, rest, longest)
            except Exception as error:  # noqa: BLE001 - the poller waits for an absent database
                report_failure("Claiming", error, longest, self._trouble_log)
                has_failed = True
                self._stopping.wait(longest)
                continue
            if has_failed:
                self._trouble_log.passed()
                has_failed = False
            if pause and self._bell.wait(pause):
                # More hints may follow shortly.
                rest = _FIRST_REST
                self._gather()
        self.found_nothing.set()  # for `run_until_idle`, whose worker a test may have crashed

    def _next_rest(self, found: PollResult, rest: float, longest: float) -> float:
        if found is not PollResult.NOTHING:
            self._found_at = time.monotonic()
            return _FIRST_REST
        if self._told_at is not None:
            # Hints are coalesced: what became due right after a hint may have sent no other one.
            was_just_told = time.monotonic() - self._told_at < _GATHERED
            return _FIRST_REST if was_just_told else min(rest * _TOLD_GROWTH, longest)
        # Without hints: if something was due, more is likely to be due soon.
        if time.monotonic() - self._found_at < _LIVELY_FOR:
            return _FIRST_REST
        return min(rest * _GROWTH, longest)

    def _gather(self) -> None:
        """Wait a moment while steps run, so that one claim gets all that becomes due meanwhile."""
        if self._performer.flights:
            self._stopping.wait(max(0.0, self._claimed_at + _GATHERED - time.monotonic()))

    def _pause(self, found: PollResult, rest: float, longest: float) -> float:
        """Return how long to rest unless the bell rings: 0 while there is more to claim."""
        if found is PollResult.MORE and self._performer.free > 0:
            return 0.0
        # Also if threads are free: some flights may have waited too long for one.
        self._performer.release_waiting(_LONGEST_WAIT)
        if self._performer.free > 0:
            return self._timers.until_next(rest)
        # Wake up early enough to release flights without a thread: the poll interval may be long.
        return min(longest, _LONGEST_WAIT.total_seconds())

    def _claim(self) -> PollResult:
        # Read this first: a flight that lands during this round may make an execution due.
        nothing_runs = not self._performer.flights
        named = self._named()
        self._was_idle = False
        self._wake_limit_waiters()
        free = self._performer.free
        if free < 1:
            self._timers.look_now_and_then()
            return PollResult.NOTHING
        if named is not None and self._claim_up_to(1, named):
            # A full round first would delay this claim. The bell starts one right afterwards.
            self._bell.set()
            return PollResult.SOME
        claimed = self._claim_from_behind()
        claimed += self._claim_up_to(free - claimed) if claimed < free else 0
        # Wake sleepers even if there is always something to claim.
        woken = self._timers.look_now_and_then() if claimed else self._timers.look()
        if woken or claimed == free:
            return PollResult.MORE
        if claimed:
            return PollResult.SOME
        if nothing_runs:
            self._was_idle = True
            # Only `run_until_idle` waits for the event; once it is set, the query is not needed.
            if not self.found_nothing.is_set() and not self._is_anything_left():
                self.found_nothing.set()
        return PollResult.NOTHING

    def _is_anything_left(self) -> bool:
        """True if an execution is due but locked, or held by this worker without a flight.

        The answer to a claim may have been lost; the heartbeat releases such executions.
        """
        store, types = self._environment.store, self._identity.served_types()
        with store.reading() as connection:
            if (
                types
                and store.executions.top_priority(connection, types, self._identity.served_queues())
                is not None
            ):
                return True
            return bool(store.executions.held_by(connection, self._identity.id))

    def _named(self) -> Key | None:
        """Return the execution that a hint has named, if it is probably the only one due.

        If other executions are due as well, claiming it would serve the newest workflow first.
        """
        heard, self._heard = self._heard, []
        if not self._was_idle or len(heard) != 1 or heard[0] is None:
            return None
        # Another program on the same channel may send anything.
        with contextlib.suppress(InvalidInput):
            return keys.parse(self._environment.store.tables.key_type, heard[0])
        return None

    def _claim_from_behind(self) -> int:
        """Claim an execution of another workflow, if one fills its lane and had its turn."""
        crowding = self._turns.crowding()
        if crowding is None:
            return 0
        behind = find_behind(self._environment, self._identity, crowding)
        if behind is None:
            self._turns.note_alone(crowding)
            return 0
        return self._claim_up_to(1, behind)

    def _claim_up_to(self, free: int, named: Key | None = None) -> int:
        self._claimed_at = time.monotonic()
        with self._identity.tokens.expecting() as token:
            claimed = claim_due(
                self._environment,
                self._identity,
                free,
                token,
                rooms=self._rooms_of_capped(),
                named=named,
            )
            if named is None:
                self._turns.note(claimed)
            return self._performer.submit(claimed)

    def _rooms_of_capped(self) -> dict[str, int]:
        """Return how many more executions of each capped queue may run here."""
        flights = self._performer.flights
        return {name: cap - flights.on_queue(name) for name, cap in self._identity.caps.items()}

    def _wake_limit_waiters(self) -> None:
        """Wake executions that wait for a slot that a flight of this worker has freed."""
        freed: set[str] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                freed.add(self._performer.freed.get_nowait())
        if not freed:
            return
        try:
            self._timers.limit_waiters.wake_for(freed)
        except BaseException:
            for key in freed:
                self._performer.freed.put(key)  # for the next round: no other worker knows of them
            raise
