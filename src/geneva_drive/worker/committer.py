"""Group commit: outcomes gather while one transaction commits, and share the next one."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.claimed_execution import Claimed, chained_claim, continued
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import Lost, StepOutcome, recorded_outcome
from geneva_drive.errors import ClaimLost, StorageError
from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.storage.connections import typed_errors
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.worker.flights import Flight
from geneva_drive.worker.identity import Identity

logger = logging.getLogger(__name__)

_MAX_GROUP = 500
_NONE: Set[Key] = frozenset()
_RETRY_DELAY = InternalBackoff(timedelta(milliseconds=50), longest=timedelta(seconds=2))


@dataclass(frozen=True, slots=True)
class PendingOutcome:
    """An outcome to commit."""

    flight: Flight
    outcome: StepOutcome
    may_chain: bool
    position: LoopPosition | None = None


class Committer:
    """Queues outcomes and commits them in groups; it has no thread of its own.

    A thread that submits an outcome while no other thread commits has the turn: it takes group
    after group with `next_group` and commits each, until none is left. So a lone outcome is
    committed immediately, and under load outcomes gather while the previous transaction commits.
    """

    def __init__(self, environment: Environment, identity: Identity) -> None:
        self._environment = environment
        self._identity = identity
        self._lock = threading.Lock()
        self._waiting: list[PendingOutcome] = []
        self._is_committing = False
        self._closed = threading.Event()

    def submit(self, pending: PendingOutcome) -> bool:
        """Queue an outcome; True if the calling thread has the turn to commit."""
        with self._lock:
            self._waiting.append(pending)
            has_turn = not self._is_committing
            self._is_committing = True
        return has_turn

    def next_group(self) -> list[PendingOutcome]:
        """Return the outcomes to commit next; an empty list ends the turn."""
        with self._lock:
            group = self._waiting[:_MAX_GROUP]
            del self._waiting[:_MAX_GROUP]
            if not group:
                self._is_committing = False
            return group

    def end_turn(self) -> None:
        """End this thread's turn after an exception; the next outcome's thread commits."""
        with self._lock:
            self._is_committing = False

    def close(self) -> None:
        """Try each commit only once from now on: the worker is stopping."""
        self._closed.set()

    def commit(self, group: Sequence[PendingOutcome], token: str) -> list[Claimed | None]:
        """Commit a group, retrying while the database is away; return the claim after each outcome.

        After `close`, or an error that retrying cannot mend, each claim is None.
        """
        # All tries share one token: it finds the claims of a try whose answer was lost.
        chaining = self._identity.chaining(token, self._environment.settings.queue_limits)
        log, retries = self._environment.store.database.trouble_log, 0
        while True:
            try:
                endings = [
                    p.flight.claimed.ending(p.outcome, may_chain=p.may_chain, position=p.position)
                    for p in group
                ]
                applied = commit_endings(self._environment, endings, chaining)
                following = self._following(group, applied, chaining, repeated=retries > 0)
            except (StorageError, DBAPIError) as error:
                retries += 1
                if self._closed.wait(_RETRY_DELAY.before(retries)):
                    logger.warning("%s outcomes were not committed: %s", len(group), error)
                    return [None] * len(group)
                if isinstance(error, typed_errors.PASSING):
                    log.met(error)
                else:
                    logger.warning(
                        "Commit of %s outcomes will be tried again: %s", len(group), error
                    )
            except Exception as error:
                # A bug here must not end the committer, on which every thread relies.
                logger.exception("%s outcomes were dropped", len(group))
                self._release(group, error)
                return [None] * len(group)
            else:
                if retries:
                    log.passed()
                return following

    def _release(self, group: Sequence[PendingOutcome], error: Exception) -> None:
        """Release the claims of a group whose outcomes cannot be recorded, as counted recoveries.

        The heartbeat would release them too, but uncounted: they could run forever.
        """
        limit = self._environment.settings.max_recoveries
        lost = Lost(f"Its outcome could not be recorded: {type(error).__name__}: {error}", limit)
        try:
            commit_endings(self._environment, [p.flight.claimed.ending(lost) for p in group])
        except Exception:
            # As above, the committer must continue. The heartbeat will release them.
            logger.exception("%s executions were not released", len(group))

    def _following(
        self,
        group: Sequence[PendingOutcome],
        applied: Sequence[Applied | None],
        chaining: NextClaim,
        *,
        repeated: bool,
    ) -> list[Claimed | None]:
        missing = [p for p, one in zip(group, applied, strict=True) if one is None]
        if not (repeated and missing):
            recorded, adopted = _NONE, {}
        else:
            recorded, adopted = self._recorded(missing), self._adopt(missing, chaining)
        return [
            _next(pending.flight.claimed, one, recorded, adopted)
            for pending, one in zip(group, applied, strict=True)
        ]

    def _recorded(self, missing: Sequence[PendingOutcome]) -> Set[Key]:
        """Return the executions whose outcome a try committed before its answer was lost."""
        store = self._environment.store
        ids = [pending.flight.claimed.execution.id for pending in missing]
        with store.reading() as connection:
            rows = {row.id: row for row in store.executions.get_many(connection, ids)}
        return {
            key for key, pending in zip(ids, missing, strict=True) if _is_in(rows.get(key), pending)
        }

    def _adopt(
        self, missing: Sequence[PendingOutcome], chaining: NextClaim
    ) -> dict[Key, list[Claimed]]:
        """Return, by workflow, the claims that a try committed before its answer was lost."""
        store = self._environment.store
        by_workflow = {p.flight.claimed.workflow.id: p.flight.claimed for p in missing}
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


def _is_in(row: ExecutionRecord | None, pending: PendingOutcome) -> bool:
    """True if a row has the pending outcome, and not that of another worker or a command."""
    if row is None or row.claim_token is not None:
        return False
    return row.outcome == recorded_outcome(pending.outcome, pending.flight.claimed.execution)


def _next(
    claimed: Claimed,
    applied: Applied | None,
    recorded: Set[Key],
    adopted: Mapping[Key, list[Claimed]],
) -> Claimed | None:
    if applied is None:
        if following := adopted.get(claimed.workflow.id):
            return following.pop()
        if claimed.execution.id in recorded:
            return None
        logger.warning("%s", ClaimLost(claimed.execution.id, claimed.execution.step_name))
        return None
    return chained_claim(claimed, applied)
