"""Group commit: one transaction for many endings, in which a refused ending fails alone."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit import commit, node_completions, plain_completions
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import ErrorDetails, Raised, Reaction
from geneva_drive.engine.waits import wait
from geneva_drive.errors import StorageError
from geneva_drive.storage.dialects.trouble import Trouble
from geneva_drive.storage.schema.records import Key

logger = logging.getLogger(__name__)


def commit_endings(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None = None
) -> list[Applied | None]:
    """Commit endings and announce them; the result is None where the claim was lost.

    Plain completions go first, by the fast statements. The others take the general path, under
    the workflows' locks. Each path is a transaction of its own, because locks are taken in order
    only within one. Raises if the database is unavailable; the caller tries again.
    """
    fast = _complete_plain(environment, endings, chaining)
    if len(fast) < len(endings):
        fast |= _complete_nodes(environment, endings, chaining)
    rest = [ending for ending in endings if ending.execution_id not in fast]
    general = iter(_commit(environment, rest, chaining) if rest else [])
    return [fast.get(ending.execution_id) or next(general) for ending in endings]


def _commit(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    """Commit endings by the general path.

    If one of them makes the write fail, the group is halved until that ending is alone. Its
    execution then fails with the error.
    """
    try:
        return _apply(environment, endings, chaining)
    except Exception as error:
        # Any exception, even a bug of ours: one outcome must not fail its whole group.
        if _may_commit_later(environment, error):
            raise
        if len(endings) > 1:
            middle = len(endings) // 2
            return _commit(environment, endings[:middle], chaining) + _commit(
                environment, endings[middle:], chaining
            )
        logger.warning(
            "The outcome of execution %s could not be written; the execution fails instead: %s",
            endings[0].execution_id,
            error,
        )
        return [_fail(environment, endings[0], error)]


def _fail(environment: Environment, ending: EndedRun, error: Exception) -> Applied | None:
    """Record that an outcome could not be written; None if not even that can be written."""
    refused = Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))
    try:
        [applied] = _apply(environment, [replace(ending, outcome=refused)], None)
    except Exception as again:
        # Any exception here too: it must not fail the rest of the group.
        if _may_commit_later(environment, again):
            raise
        logger.exception("No outcome can be written for execution %s", ending.execution_id)
        return None
    return applied


def _complete_plain(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> dict[Key, Applied]:
    # One per workflow, because results are matched by workflow id. There may be two endings of a
    # workflow if a claim was lost and won again.
    by_workflow = {e.workflow_id: e for e in endings if plain_completions.is_plain(e)}
    plain = list(by_workflow.values())
    if not plain or not environment.store.database.dialect.completes_fast:
        return {}
    store, now = environment.store, environment.clock.now()
    try:
        applied = plain_completions.complete(store, plain, now, chaining)
    except Exception as error:
        if _may_commit_later(environment, error):
            raise
        # One of them caused the error: the general path finds out which.
        logger.warning(
            "The fast path failed for %s completions, which take the general path: %s",
            len(plain),
            error,
        )
        return {}
    announce(environment, list(applied.values()))
    return applied


def _complete_nodes(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> dict[Key, Applied]:
    plain = [ending for ending in endings if node_completions.is_plain(ending)]
    # Subscribers need the record of each execution, which only the general path reads.
    if not plain or environment.events.wanted:
        return {}
    store, clock = environment.store, environment.clock
    try:
        applied = store.write_group(
            lambda connection: node_completions.complete(connection, store, plain, clock, chaining)
        )
    except Exception as error:
        if _may_commit_later(environment, error):
            raise
        # A claim was lost, or one of them caused the error: the general path finds out which.
        logger.info(
            "The fast path failed for %s completed nodes, which take the general path: %s",
            len(plain),
            error,
        )
        return {}
    announce(environment, list(applied.values()))
    return applied


def _apply(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    store = environment.store
    applied = store.write_group(
        lambda connection: commit.apply(
            connection,
            store,
            endings,
            environment.clock,
            chaining=chaining,
            read_back=environment.events.wanted,
        )
    )
    announce(environment, [one for one in applied if one is not None])
    return applied


def _may_commit_later(environment: Environment, error: Exception) -> bool:
    """True if the same group may commit later, so none of its endings caused the error."""
    trouble = environment.store.database.trouble_of(error)
    if trouble is not None:
        return trouble is not Trouble.VALUE
    return isinstance(error, StorageError) and not isinstance(error, ChangedUnderLock)


def announce_command(environment: Environment, applied: Sequence[Applied]) -> None:
    """Announce the changes of a command, and wake the workers in any case."""
    announce(environment, applied)
    if not any(one.leaves_something_due for one in applied):  # else `announce` has woken them
        environment.wakeups.ring()


def announce(environment: Environment, applied: Sequence[Applied]) -> None:
    """Publish the committed changes, then release and cancel the waits that they end."""
    announce_commit(environment, applied)
    wait.follow(environment, applied)
