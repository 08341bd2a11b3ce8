"""Group commit: whatever finished while the last transaction was written goes in the next one."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.commit import Applied, Chaining
from geneva_drive.engine.committing import commit_endings
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.executor import Claimed, continued
from geneva_drive.engine.outcome import StepOutcome
from geneva_drive.engine.performing import ending
from geneva_drive.errors import ClaimLost, StorageError
from geneva_drive.storage.records import Key
from geneva_drive.worker.identity import Identity

logger = logging.getLogger(__name__)

_MAX_GROUP = 500
_FIRST_REST = 0.05
_LONGEST_REST = 2.0


@dataclass(frozen=True, slots=True)
class Pending:
    """An outcome on its way; `done` is told the execution that follows in the same breath."""

    claimed: Claimed
    outcome: StepOutcome
    may_chain: bool
    done: Callable[[Claimed | None], None]


class Committer:
    """Commits outcomes in groups, on the thread of whoever finds nobody committing.

    It never waits on purpose: a lone outcome is committed at once by the thread that brought it;
    under load, outcomes gather while the transaction before theirs is written.
    """

    def __init__(self, environment: Environment, identity: Identity) -> None:
        self._environment = environment
        self._identity = identity
        self._lock = threading.Lock()
        self._waiting: list[Pending] = []
        self._is_committing = False
        self._closed = threading.Event()

    def submit(self, pending: Pending) -> None:
        with self._lock:
            self._waiting.append(pending)
            if self._is_committing:
                return
            self._is_committing = True
        self._commit_all()

    def close(self) -> None:
        """From now on, try once only: nobody waits for a database that does not answer."""
        self._closed.set()

    def _commit_all(self) -> None:
        try:
            while group := self._next_group():
                # Until what follows is landed: the heartbeat would take it for forgotten.
                with self._identity.tokens.expecting() as token:
                    followings = self._commit(group, token)
                    for pending, following in zip(group, followings, strict=True):
                        pending.done(following)
        except BaseException:
            # Whatever ends this thread, the next outcome finds somebody to commit it.
            with self._lock:
                self._is_committing = False
            raise

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
        chaining = Chaining(
            worker_id=self._identity.id,
            claim_token=token,
            types=self._identity.served_types(),
            queues=self._identity.queues,
            limited_queues=self._environment.settings.queue_limits,
        )
        endings = [ending(p.claimed, p.outcome, may_chain=p.may_chain) for p in group]
        rest = _FIRST_REST
        repeated = False
        while True:
            try:
                applied = commit_endings(self._environment, endings, chaining)
                return self._following(group, applied, chaining, repeated=repeated)
            except (StorageError, DBAPIError) as error:
                if self._closed.wait(rest):
                    logger.warning("%s outcomes were not committed: %s", len(group), error)
                    return [None] * len(group)
                logger.warning("Commit of %s outcomes will be tried again: %s", len(group), error)
                rest = min(rest * 2, _LONGEST_REST)
                repeated = True
            except Exception:
                # A fault of ours must not end the committer, on which every thread relies. What
                # stays claimed is in nobody's hands, and the heartbeat gives it back.
                logger.exception("%s outcomes were dropped", len(group))
                return [None] * len(group)

    def _following(
        self,
        group: Sequence[Pending],
        applied: Sequence[Applied | None],
        chaining: Chaining,
        *,
        repeated: bool,
    ) -> list[Claimed | None]:
        adopted = self._adopt(group, applied, chaining) if repeated else {}
        return [_next(pending, one, adopted) for pending, one in zip(group, applied, strict=True)]

    def _adopt(
        self, group: Sequence[Pending], applied: Sequence[Applied | None], chaining: Chaining
    ) -> dict[Key, Claimed]:
        """Find what a try claimed whose COMMIT was carried out but never answered."""
        missing = [p.claimed for p, one in zip(group, applied, strict=True) if one is None]
        if not missing:
            return {}
        store = self._environment.store
        ids = [claimed.workflow.id for claimed in missing]
        with store.reading() as connection:
            found = store.executions.with_token(connection, ids, chaining.claim_token)
            workflows = store.workflows.get_many(connection, ids)
        by_workflow = {claimed.workflow.id: claimed for claimed in missing}
        return {
            row.workflow_id: continued(
                by_workflow[row.workflow_id], workflows[row.workflow_id], row
            )
            for row in found
        }


def _next(pending: Pending, applied: Applied | None, adopted: dict[Key, Claimed]) -> Claimed | None:
    claimed = pending.claimed
    if applied is None:
        following = adopted.pop(claimed.workflow.id, None)
        if following is None:
            execution = claimed.execution
            logger.warning("%s", ClaimLost(execution.id, execution.step_name))
        return following
    if applied.chained is None:
        return None
    return continued(claimed, applied.workflow, applied.chained)
