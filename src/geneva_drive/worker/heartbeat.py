"""Saying that a worker is alive, and making sure it knows what it holds."""

from __future__ import annotations

import logging
import time

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import lost_workers
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.identity import Identity, signatures

logger = logging.getLogger(__name__)


class Heartbeat:
    """One row per worker, not per execution, renewed on the database's clock."""

    def __init__(self, environment: Environment, identity: Identity, flights: Flights) -> None:
        self._environment = environment
        self._identity = identity
        self._flights = flights
        self._unknown: set[Key] = set()
        self._last_beat = time.monotonic()
        self._may_judge_at = time.monotonic()

    @property
    def may_judge(self) -> bool:
        """Say whether this worker may call others dead.

        After an outage all have been silent. Whoever is back first would otherwise take everybody's
        work, so one that missed its own heartbeat leaves the others a lease to be heard again.
        """
        now = time.monotonic()
        return now >= self._may_judge_at and not self._was_silent(now)

    @property
    def is_within_lease(self) -> bool:
        """Say whether what this worker holds is still its own, as far as it can know.

        One that was suspended for longer wakes up to steps that others have run meanwhile.
        """
        lease = self._environment.settings.lease.total_seconds()
        return time.monotonic() - self._last_beat < lease

    def register(self) -> None:
        store = self._environment.store
        store.write(
            lambda connection: store.workers.register(
                connection,
                self._identity.id,
                name=self._identity.name,
                queues=None if self._identity.queues is None else sorted(self._identity.queues),
                signatures=signatures(),
            )
        )
        # Those who live get the time of one heartbeat to show it to a newcomer.
        interval = self._environment.settings.heartbeat_interval.total_seconds()
        self._last_beat = time.monotonic()
        self._may_judge_at = max(self._may_judge_at, self._last_beat + interval)

    def beat(self) -> None:
        store = self._environment.store
        asked_at = time.monotonic()  # it may be frozen before it hears the answer
        is_known = store.write(lambda connection: store.workers.beat(connection, self._identity.id))
        self._note_silence(asked_at)
        if not is_known:
            logger.warning(
                "Worker %s had been silent past its lease and was given up; it goes on anew",
                self._identity.name,
            )
            self.register()
        self._give_back_unknown()

    def end(self) -> None:
        store = self._environment.store
        store.write(lambda connection: store.workers.stop(connection, self._identity.id))

    def _note_silence(self, beaten_at: float) -> None:
        now = time.monotonic()
        if self._was_silent(now):
            self._may_judge_at = now + self._environment.settings.lease.total_seconds()
        self._last_beat = beaten_at

    def _was_silent(self, now: float) -> bool:
        """Say whether a heartbeat was missed, well before others could see it by the lease.

        In the same outage another one's silence may have begun a whole interval before ours.
        """
        settings = self._environment.settings
        longest = (settings.lease + settings.heartbeat_interval) / 2
        return now - self._last_beat > longest.total_seconds()

    def _give_back_unknown(self) -> None:
        """Return rows in this worker's name that it does not have: an answer that got lost.

        Only at the second sight: a claim may be committed and not yet in memory.
        """
        store = self._environment.store
        with store.reading() as connection:
            held = store.executions.held_by(connection, self._identity.id)
        # The tokens first: what is claimed goes into the flights before its token is let go.
        claimed = [record for record in held if record.claim_token not in self._identity.tokens]
        in_memory = self._flights.ids()
        unknown = [record for record in claimed if record.id not in in_memory]
        lost = [record for record in unknown if record.id in self._unknown]
        lost_workers.give_back(
            self._environment, lost, "The answer to its claim was lost.", counted=False
        )
        self._unknown = {record.id for record in unknown} - {record.id for record in lost}
