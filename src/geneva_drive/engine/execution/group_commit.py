"""Group commit: one transaction for many endings, in which one bad ending fails alone."""

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
    """Commit endings and announce them; None for each whose claim was lost.

    Plain completions go first, by the fast statements; all others by the general path, under the
    workflows' locks. Each path is its own transaction: locks are taken in order only within one.
    Raises if the database is away; the caller tries again.
    """
    fast = _complete(environment, endings, chaining)
    if len(fast) < len(endings):
        fast |= _complete_nodes(environment, endings, chaining)
    rest = [ending for ending in endings if ending.execution_id not in fast]
    general = iter(_commit(environment, rest, chaining) if rest else [])
    return [fast.get(ending.execution_id) or next(general) for ending in endings]


def _commit(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    """Commit endings by the general path.

    If the database refuses the group because of one of them, the group is halved until the culprit
    is alone. That execution then fails with the database's error.
    """
    try:
        return _apply(environment, endings, chaining)
    except Exception as error:
        # Even for a fault of ours: one outcome must not take its group with it.
        if _may_pass(environment, error):
            raise
        if len(endings) > 1:
            middle = len(endings) // 2
            return _commit(environment, endings[:middle], chaining) + _commit(
                environment, endings[middle:], chaining
            )
        logger.warning(
            "The database refused the outcome of execution %s; the execution fails instead: %s",
            endings[0].execution_id,
            error,
        )
        return [_fail(environment, endings[0], error)]


def _fail(environment: Environment, ending: EndedRun, error: Exception) -> Applied | None:
    """Record that an outcome was refused; None if the database refuses even that."""
    refused = Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))
    try:
        [applied] = _apply(environment, [replace(ending, outcome=refused)], None)
    except Exception as again:
        # As above: a fault of ours must not take the rest of the group with it.
        if _may_pass(environment, again):
            raise
        logger.exception("Nothing can be recorded for execution %s", ending.execution_id)
        return None
    return applied


def _complete(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> dict[Key, Applied]:
    # One per workflow, as the answers are matched by workflow id. There may be two if a claim was
    # lost and won again.
    by_workflow = {e.workflow_id: e for e in endings if plain_completions.is_plain(e)}
    plain = list(by_workflow.values())
    if not plain or not environment.store.database.dialect.completes_fast:
        return {}
    store, now = environment.store, environment.clock.now()
    try:
        applied = plain_completions.complete(store, plain, now, chaining)
    except Exception as error:
        if _may_pass(environment, error):
            raise
        # Refused because of one of them: the general path finds out which.
        logger.warning("%s completions go by the general path: %s", len(plain), error)
        return {}
    announce(environment, list(applied.values()))
    return applied


def _complete_nodes(
    environment: Environment, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> dict[Key, Applied]:
    plain = [ending for ending in endings if node_completions.is_plain(ending)]
    # Subscribers need the record of each execution, which the general path has at hand.
    if not plain or environment.events.wanted:
        return {}
    store, clock = environment.store, environment.clock
    try:
        applied = store.write_group(
            lambda connection: node_completions.complete(connection, store, plain, clock, chaining)
        )
    except Exception as error:
        if _may_pass(environment, error):
            raise
        # As with plain completions.
        logger.info("%s completed nodes go by the general path: %s", len(plain), error)
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


def _may_pass(environment: Environment, error: Exception) -> bool:
    """True if the same group may commit later: then none of its endings is to blame."""
    trouble = environment.store.database.trouble_of(error)
    if trouble is not None:
        return trouble is not Trouble.VALUE
    return isinstance(error, StorageError) and not isinstance(error, ChangedUnderLock)


def announce_command(environment: Environment, applied: Sequence[Applied]) -> None:
    """Announce what a command changed, and wake the workers whatever it was."""
    announce(environment, applied)
    if not any(one.leaves_something_due for one in applied):  # or `announce` has woken them
        environment.wakeups.ring()


def announce(environment: Environment, applied: Sequence[Applied]) -> None:
    """Publish what was committed, then release and cancel the waits that it ends."""
    announce_commit(environment, applied)
    wait.follow(environment, applied)
