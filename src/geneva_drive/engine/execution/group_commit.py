"""Committing the endings of a group, without letting one of them spoil the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.exc import DBAPIError

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.announcement import publish
from geneva_drive.engine.commit import commit, node_completions, plain_completions
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import ErrorDetails, Raised, Reaction
from geneva_drive.engine.waits import wait
from geneva_drive.errors import StorageError
from geneva_drive.storage.schema.records import Key

logger = logging.getLogger(__name__)


def commit_endings(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None = None
) -> list[Applied | None]:
    """Commit endings and tell of them; None where the claim was lost.

    Plain completions go first and fast; whatever is more than that goes the general way, under the
    workflows' locks. They are transactions of their own, as each takes its locks in order only in
    itself. A database that cannot be used at all is the caller's to wait for: that is raised.
    """
    fast = _complete(environment, endings, chaining)
    if len(fast) < len(endings):
        fast |= _complete_nodes(environment, endings, chaining)
    rest = [ending for ending in endings if ending.execution_id not in fast]
    general = iter(_commit(environment, rest, chaining) if rest else [])
    return [fast.get(ending.execution_id) or next(general) for ending in endings]


def _commit(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None
) -> list[Applied | None]:
    """Commit endings the general way, without letting one of them spoil the others.

    If the database refuses the group for what one of them holds, the group is halved until the
    culprit is alone; that execution then fails with the database's error.
    """
    try:
        return _apply(environment, endings, chaining)
    except Exception as error:
        # Whatever it is, a fault of ours included: one outcome must not take its group with it.
        if _may_pass(environment, error):
            raise
        if len(endings) > 1:
            middle = len(endings) // 2
            return _commit(environment, endings[:middle], chaining) + _commit(
                environment, endings[middle:], chaining
            )
        logger.warning(
            "The outcome of execution %s was refused by the database; it fails instead: %s",
            endings[0].execution_id,
            error,
        )
        return [_fail(environment, endings[0], error)]


def _fail(environment: Environment, ending: Ending, error: Exception) -> Applied | None:
    """Record that an outcome was refused; if even that is, let it not stand in others' way."""
    refused = Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))
    try:
        [applied] = _apply(environment, [replace(ending, outcome=refused)], None)
    except Exception as again:
        if _may_pass(environment, again):
            raise
        logger.exception("Nothing can be recorded of execution %s", ending.execution_id)
        return None
    return applied


def _complete(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None
) -> dict[Key, Applied]:
    # One of a workflow: where its claim was lost and won again, two of its executions may be here,
    # and what comes back from the database is known by its workflow.
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
        # Refused for what one of them holds: the general way finds out which.
        logger.warning("%s completions go the general way: %s", len(plain), error)
        return {}
    announce(environment, list(applied.values()))
    return applied


def _complete_nodes(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None
) -> dict[Key, Applied]:
    plain = [ending for ending in endings if node_completions.is_plain(ending)]
    # Subscribers are told of each execution: the general path has them at hand.
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
        logger.info("%s completed nodes go the general way: %s", len(plain), error)
        return {}
    announce(environment, list(applied.values()))
    return applied


def _apply(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None
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
    """Say whether the same group may be committed later: then none of it is to blame."""
    if isinstance(error, DBAPIError):
        return not environment.store.database.dialect.blames_value(error)
    return isinstance(error, StorageError) and not isinstance(error, ChangedUnderLock)


def announce(environment: Environment, applied: Sequence[Applied]) -> None:
    """Publish what was committed, then release and cancel the waits that it ends."""
    publish(environment, applied)
    wait.follow(environment, applied)
