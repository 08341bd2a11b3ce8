"""The heartbeat of a worker: renews its lease, and releases claims whose answer was lost."""

from __future__ import annotations

import logging
import time

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import lost_workers
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.identity import Identity

logger = logging.getLogger(__name__)


class Heartbeat:
    """Renews one row per worker, not per execution, on the database's clock."""

    def __init__(self, environment: Environment, identity: Identity, flights: Flights) -> None:
        self._environment = environment
        self._identity = identity
        self._flights = flights
        self._unknown: set[Key] = set()
        self._last_beat = time.monotonic()
        self._may_judge_at = time.monotonic()

    def may_judge(self) -> bool:
        """True if this worker may declare others lost.

        After an outage all workers have been silent, and the first one back would take the work of
        all others. So a worker that missed its own heartbeat waits for theirs, one lease long.
        """
        now = time.monotonic()
        return now >= self._may_judge_at and not self._was_silent(now)

    def is_within_lease(self) -> bool:
        """True if this worker still holds its claims, as far as it can know.

        If the process was suspended for longer, other workers may have run its steps.
        """
        lease = self._environment.settings.lease.total_seconds()
        return time.monotonic() - self._last_beat < lease

    def register(self) -> None:
        self._identity.register(self._environment.store, self._environment.settings.lease)
        # A new worker waits one heartbeat before it judges, so that live workers can send theirs.
        interval = self._environment.settings.heartbeat_interval.total_seconds()
        self._last_beat = time.monotonic()
        self._may_judge_at = max(self._may_judge_at, self._last_beat + interval)

    def beat(self) -> None:
        store = self._environment.store
        asked_at = time.monotonic()  # the process may be frozen before it reads the answer
        trouble = store.database.trouble_log.current()
        is_known = store.write(
            lambda connection: store.workers.beat(connection, self._identity.id, trouble)
        )
        self._note_silence(asked_at)
        if not is_known:
            logger.warning(
                "Worker %s was silent past its lease and had been declared lost; it registers "
                "again",
                self._identity.name,
            )
            self.register()
        self._release_unknown()

    def end(self) -> None:
        store = self._environment.store
        store.write(lambda connection: store.workers.stop(connection, self._identity.id))

    def _note_silence(self, beaten_at: float) -> None:
        now = time.monotonic()
        if self._was_silent(now):
            self._may_judge_at = now + self._environment.settings.lease.total_seconds()
        self._last_beat = beaten_at

    def _was_silent(self, now: float) -> bool:
        """True if a heartbeat was missed, well before the lease ends and other workers notice.

        In the same outage another worker's silence may have begun an interval before ours.
        """
        settings = self._environment.settings
        longest = (settings.lease + settings.heartbeat_interval) / 2
        return now - self._last_beat > longest.total_seconds()

    def _release_unknown(self) -> None:
        """Release claims of this worker that it does not have in memory: their answer was lost.

        Only when found a second time: a new claim may be committed and not yet in memory.
        """
        store = self._environment.store
        with store.reading() as connection:
            held = store.executions.held_by(connection, self._identity.id)
        # Check the tokens first: a claim enters the flights before its token is discarded.
        claimed = [record for record in held if record.claim_token not in self._identity.tokens]
        in_memory = self._flights.ids()
        unknown = [record for record in claimed if record.id not in in_memory]
        lost = [record for record in unknown if record.id in self._unknown]
        lost_workers.release(
            self._environment, lost, "The answer to its claim was lost.", counted=False
        )
        self._unknown = {record.id for record in unknown} - {record.id for record in lost}
