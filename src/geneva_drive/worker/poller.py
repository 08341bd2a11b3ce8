"""Claiming what is due as soon as there is room for it, and resting while there is nothing."""

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
from geneva_drive.worker.claims.claimer import claim_due, find_behind
from geneva_drive.worker.claims.fairness import Turns
from geneva_drive.worker.housekeeping.timers import Timers
from geneva_drive.worker.identity import Identity
from geneva_drive.worker.performer import Performer
from geneva_drive.worker.service import report_failure

_FIRST_REST = 0.01
_GATHERED = 0.01
_LIVELY_FOR = 0.5
_GROWTH, _TOLD_GROWTH = 2, 10  # of the rest, while nothing is found
# What was claimed ahead and found no free thread for so long was claimed too early.
_LONGEST_WAIT = timedelta(seconds=1)


class Found(Enum):
    """What a look at the queues came to."""

    NOTHING = auto()
    SOME = auto()  # and nothing more, just now
    MORE = auto()  # than there was room for


class Poller:
    """One thread that claims for all others; the bell ends its rest."""

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
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="geneva-poller", daemon=True)
        self._timers = Timers(environment, identity.served_queues())
        self._claimed_at = self._found_at = -math.inf
        self._told_at: float | None = None  # by another process, of what it leaves for us
        self._heard: list[str | None] = []  # what other processes have just started, if they say so
        self._turns = Turns()
        self._had_nothing = False  # to do, and found nothing to claim, at the last look
        self.found_nothing = threading.Event()  # nothing was due, and nothing ran

    def hear(self, named: str | None) -> None:
        """Be woken by another process, which may have named what it has for us."""
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
        rest = _FIRST_REST
        longest = self._environment.settings.poll_interval.total_seconds()
        while not self._stopping.is_set():
            self._bell.clear()
            try:
                found = self._claim()
                rest = self._next_rest(found, rest, longest)
                pause = self._pause(found, rest, longest)
            except Exception as error:  # noqa: BLE001 - a database that is away is waited for
                report_failure("Claiming", error, longest)
                self._stopping.wait(longest)
                continue
            if pause and self._bell.wait(pause):
                # One hint may stand for several that follow shortly.
                rest = _FIRST_REST
                self._gather()

    def _next_rest(self, found: Found, rest: float, longest: float) -> float:
        if found is not Found.NOTHING:
            self._found_at = time.monotonic()
            return _FIRST_REST
        if self._told_at is not None:
            # Only what came right after a hint, which stood for it, is still to be found.
            was_just_told = time.monotonic() - self._told_at < _GATHERED
            return _FIRST_REST if was_just_told else min(rest * _TOLD_GROWTH, longest)
        # Where nobody tells of it, what comes next after something is likely to come soon.
        if time.monotonic() - self._found_at < _LIVELY_FOR:
            return _FIRST_REST
        return min(rest * _GROWTH, longest)

    def _gather(self) -> None:
        """While steps are under way, claim what becomes due within a moment at once."""
        if self._performer.flights:
            self._stopping.wait(max(0.0, self._claimed_at + _GATHERED - time.monotonic()))

    def _pause(self, found: Found, rest: float, longest: float) -> float:
        """Say how long to rest, unless somebody rings: not at all while there is more."""
        if found is Found.MORE and self._performer.free > 0:
            return 0.0
        # Also where there is room to hold more ready: what waits for a thread waits as long.
        self._performer.release_waiting(_LONGEST_WAIT)
        if self._performer.free > 0:
            return self._timers.until_next(rest)
        # In time to give back what finds no thread, however seldom it is to look around.
        return min(longest, _LONGEST_WAIT.total_seconds())

    def _claim(self) -> Found:
        # Before anything else: what lands while it looks around may leave something due behind.
        nothing_runs = not self._performer.flights
        named = self._named()
        self._had_nothing = False
        self._wake_parked()
        free = self._performer.free
        if free < 1:
            self._timers.look_now_and_then()
            return Found.NOTHING
        if named is not None and self._take(1, named):
            # Looking at once would only keep its thread waiting; whatever else there is, and what
            # was started shortly after it, is claimed together in a moment.
            self._bell.set()
            return Found.SOME
        took = self._take_from_behind()
        took += self._take(free - took) if took < free else 0
        # Where there is always something to claim, sleepers are to be woken all the same.
        woken = self._timers.look_now_and_then() if took else self._timers.look()
        if woken or took == free:
            return Found.MORE
        if took:
            return Found.SOME
        if nothing_runs:
            self._had_nothing = True
            # Asked once at most in the life of a worker that is not to end with its work.
            if not self.found_nothing.is_set() and not self._is_anything_left():
                self.found_nothing.set()
        return Found.NOTHING

    def _is_anything_left(self) -> bool:
        """Say whether there is work all the same: what others lock, or what we hold unknowingly.

        The answer to a claim may have been lost; the heartbeat gives such executions back.
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
        """Say what was started a moment ago, where that is likely to be all there is.

        Otherwise whoever started last would be served first.
        """
        heard, self._heard = self._heard, []
        if not self._had_nothing or len(heard) != 1 or heard[0] is None:
            return None
        # Another program on the same channel may say anything.
        with contextlib.suppress(InvalidInput):
            return keys.parse(self._environment.store.tables.key_type, heard[0])
        return None

    def _take_from_behind(self) -> int:
        """Take one that waits behind the very many of another workflow, if it is its turn."""
        crowding = self._turns.crowding()
        if crowding is None:
            return 0
        behind = find_behind(self._environment, self._identity, crowding)
        if behind is None:
            self._turns.note_alone(crowding)
            return 0
        return self._take(1, behind)

    def _take(self, free: int, named: Key | None = None) -> int:
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
        """Say how many more of each capped queue may run here."""
        flights = self._performer.flights
        return {name: cap - flights.on_queue(name) for name, cap in self._identity.caps.items()}

    def _wake_parked(self) -> None:
        """Let those ask again who wait for a slot of what has landed here."""
        freed: set[str] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                freed.add(self._performer.freed.get_nowait())
        try:
            self._timers.parked.wake_for(freed)
        except BaseException:
            for key in freed:
                self._performer.freed.put(key)  # for the next round: nobody else knows of them
            raise
