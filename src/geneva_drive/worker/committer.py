"""Group commit: whatever finished while the last transaction was written goes in the next one."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.claimed import Claimed, chained, continued
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import Lost, StepOutcome
from geneva_drive.errors import ClaimLost, StorageError
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.flights import Flight
from geneva_drive.worker.identity import Identity

logger = logging.getLogger(__name__)

_MAX_GROUP = 500
_FIRST_REST = 0.05
_LONGEST_REST = 2.0


@dataclass(frozen=True, slots=True)
class Pending:
    """An outcome on its way."""

    flight: Flight
    outcome: StepOutcome
    may_chain: bool
    position: LoopPosition | None = None


# Is told of each flight of a group the execution that was claimed in the same breath; gives the
# flights that go on from there.
Land = Callable[[Sequence[tuple[Flight, Claimed | None]]], list[Flight]]


class Committer:
    """Commits outcomes in groups, on the thread of whoever finds nobody committing.

    It never waits on purpose: a lone outcome is committed at once by the thread that brought it;
    under load, outcomes gather while the transaction before theirs is written.
    """

    def __init__(
        self,
        environment: Environment,
        identity: Identity,
        *,
        land: Land,
        hand_over: Callable[[Flight], None],
        on_begun: Callable[[int], None],
        on_committed: Callable[[float], None],
    ) -> None:
        self._environment = environment
        self._identity = identity
        self._land = land
        self._hand_over = hand_over
        self._on_begun = on_begun  # is told how many outcomes each group carries
        self._on_committed = on_committed  # is told the seconds that each group took
        self._lock = threading.Lock()
        self._waiting: list[Pending] = []
        self._is_committing = False
        self._closed = threading.Event()

    def submit(self, pending: Pending) -> Flight | None:
        """Commit an outcome, now or in the group that forms; give a flight to go on with.

        The thread that commits keeps one of the following flights for itself: handing it to
        another thread takes longer than most steps.
        """
        with self._lock:
            self._waiting.append(pending)
            if self._is_committing:
                return None
            self._is_committing = True
        return self._commit_all()

    def close(self) -> None:
        """From now on, try once only: nobody waits for a database that does not answer."""
        self._closed.set()

    def _commit_all(self) -> Flight | None:
        own: Flight | None = None
        try:
            while group := self._next_group():
                if own is not None:
                    # This thread is not free yet after all.
                    self._hand_over(own)
                own = self._commit_group(group)
        except BaseException:
            # Whatever ends this thread, the next outcome finds somebody to commit it.
            with self._lock:
                self._is_committing = False
            raise
        return own

    def _commit_group(self, group: Sequence[Pending]) -> Flight | None:
        # Until what follows is landed: the heartbeat would take it for forgotten.
        with self._identity.tokens.expecting() as token:
            began_at = time.monotonic()
            self._on_begun(len(group))
            followings = self._commit(group, token)
            self._on_committed(time.monotonic() - began_at)
            landed = [(p.flight, one) for p, one in zip(group, followings, strict=True)]
            flights = self._land(landed)
        own = flights.pop() if flights else None
        for flight in flights:
            self._hand_over(flight)
        return own

    def _next_group(self) -> list[Pending]:
        with self._lock:
            group = self._waiting[:_MAX_GROUP]
            del self._waiting[:_MAX_GROUP]
            if not group:
                self._is_committing = False
            return group

    def _commit(self, group: Sequence[Pending], token: str) -> list[Claimed | None]:
        """Commit a group, however long the database is away; give what follows each."""
        # One token for all tries: it finds what an earlier try committed without our knowing.
        chaining = self._identity.chaining(token, self._environment.settings.queue_limits)
        rest = _FIRST_REST
        repeated = False
        while True:
            try:
                endings = [
                    p.flight.claimed.ending(p.outcome, may_chain=p.may_chain, position=p.position)
                    for p in group
                ]
                applied = commit_endings(self._environment, endings, chaining)
                return self._following(group, applied, chaining, repeated=repeated)
            except (StorageError, DBAPIError) as error:
                if self._closed.wait(rest):
                    logger.warning("%s outcomes were not committed: %s", len(group), error)
                    return [None] * len(group)
                logger.warning("Commit of %s outcomes will be tried again: %s", len(group), error)
                rest = min(rest * 2, _LONGEST_REST)
                repeated = True
            except Exception as error:
                # A fault of ours must not end the committer, on which every thread relies.
                logger.exception("%s outcomes were dropped", len(group))
                self._give_back(group, error)
                return [None] * len(group)

    def _give_back(self, group: Sequence[Pending], error: Exception) -> None:
        """Count it against executions that what came of them cannot be recorded.

        The heartbeat would give them back as well, uncounted, and they would run for ever.
        """
        limit = self._environment.settings.max_recoveries
        lost = Lost(f"Its outcome could not be recorded: {type(error).__name__}: {error}", limit)
        try:
            commit_endings(self._environment, [p.flight.claimed.ending(lost) for p in group])
        except Exception:
            # As above, the committer has to go on; now it is the heartbeat that gives them back.
            logger.exception("%s executions were not given back", len(group))

    def _following(
        self,
        group: Sequence[Pending],
        applied: Sequence[Applied | None],
        chaining: Chaining,
        *,
        repeated: bool,
    ) -> list[Claimed | None]:
        adopted = self._adopt(group, applied, chaining) if repeated else {}
        return [
            _next(pending.flight.claimed, one, adopted)
            for pending, one in zip(group, applied, strict=True)
        ]

    def _adopt(
        self, group: Sequence[Pending], applied: Sequence[Applied | None], chaining: Chaining
    ) -> dict[Key, list[Claimed]]:
        """Find what a try claimed whose COMMIT was carried out but never answered."""
        missing = [p.flight.claimed for p, one in zip(group, applied, strict=True) if one is None]
        if not missing:
            return {}
        store = self._environment.store
        by_workflow = {claimed.workflow.id: claimed for claimed in missing}
        with store.reading() as connection:
            found = store.executions.with_token(
                connection, chaining.worker_id, chaining.claim_token
            )
            workflows = store.workflows.get_many(connection, list(by_workflow))
        adopted: dict[Key, list[Claimed]] = defaultdict(list)
        for row in found:
            if (former := by_workflow.get(row.workflow_id)) is not None:
                adopted[row.workflow_id].append(continued(former, workflows[row.workflow_id], row))
        return adopted


def _next(
    claimed: Claimed, applied: Applied | None, adopted: Mapping[Key, list[Claimed]]
) -> Claimed | None:
    if applied is None:
        if following := adopted.get(claimed.workflow.id):
            return following.pop()
        logger.warning("%s", ClaimLost(claimed.execution.id, claimed.execution.step_name))
        return None
    return chained(claimed, applied)
