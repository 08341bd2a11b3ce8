"""Committing the endings of a group, without letting one of them spoil the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.definition.policies import ExceptionAction
from geneva_drive.engine import announcing, commit
from geneva_drive.engine.commit import Applied, Chaining, ChangedUnderLock, Ending
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.outcome import ErrorDetails, Raised, Reaction
from geneva_drive.errors import InvalidStateError

logger = logging.getLogger(__name__)


def commit_endings(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None = None
) -> list[Applied | None]:
    """Commit endings in one transaction and tell of them; None where the claim was lost.

    If the database refuses the group for what one of them holds, the group is halved until the
    culprit is alone; that execution then fails with the database's error. A database that cannot
    be used at all is the caller's to wait for: that is raised.
    """
    try:
        return _commit(environment, endings, chaining)
    except (SQLAlchemyError, ChangedUnderLock, InvalidStateError) as error:
        if len(endings) > 1:
            middle = len(endings) // 2
            return commit_endings(environment, endings[:middle], chaining) + commit_endings(
                environment, endings[middle:], chaining
            )
        logger.warning(
            "The outcome of execution %s was refused by the database; it fails instead: %s",
            endings[0].execution_id,
            error,
        )
        refused = Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))
        return _commit(environment, [replace(endings[0], outcome=refused)], chaining)


def _commit(
    environment: Environment, endings: Sequence[Ending], chaining: Chaining | None
) -> list[Applied | None]:
    store, now = environment.store, environment.clock.now()
    applied = store.write(
        lambda connection: commit.apply(
            connection,
            store,
            endings,
            now,
            chaining=chaining,
            read_back=environment.events.wanted,
        )
    )
    announce(environment, [one for one in applied if one is not None])
    return applied


def announce(environment: Environment, applied: Sequence[Applied]) -> None:
    """Tell subscribers what was committed, and wake workers for what became due."""
    if environment.events.wanted:
        environment.events.emit(announcing.events_of(applied, environment.clock.now()))
    if any(one.change.schedule and one.chained is None for one in applied):
        environment.wakeups.ring()
