"""A transaction that ends an execution, retried after transient errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine import crash_points
from geneva_drive.engine.claimed import Claimed
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.result import Committed, Concluded
from geneva_drive.engine.execution.step_run import Failed, Run
from geneva_drive.engine.loops.cursor_saver import LoopMoved
from geneva_drive.engine.transaction_mark import BodyTransactionLost
from geneva_drive.engine.transitions.outcome import (
    ErrorDetails,
    Lost,
    Raised,
    Reaction,
    StepOutcome,
)
from geneva_drive.errors import ClaimLost
from geneva_drive.own_retry_delay import RetryDelay
from geneva_drive.storage.schema.records import ExecutionRecord

MAX_RUNS = 5
RETRY_DELAY = RetryDelay(timedelta(milliseconds=50))


class RollBack(Exception):
    """Rolls the transaction back; carries how the execution ended."""

    def __init__(self, ended: StepOutcome | Failed, *, is_concluded: bool = False) -> None:
        self.ended = ended
        self.is_concluded = is_concluded  # its after-hook has run


def run_retried(
    transaction: Callable[[], Committed], run: Run, environment: Environment, claimed: Claimed
) -> Concluded | Committed:
    """Run a transaction; retry it after an error that may pass."""
    for remaining in reversed(range(MAX_RUNS)):
        try:
            return transaction()
        except RollBack as rolled_back:
            ended = rolled_back.ended
            if not (remaining and may_help_to_repeat(ended, environment)):
                return Concluded(outcome_of(run, ended, is_concluded=rolled_back.is_concluded))
        except DBAPIError as error:
            # Raised outside the body: by opening, completing or committing the transaction.
            if _was_committed(environment, claimed):
                return Committed(None)
            database = environment.store.database
            if database.is_unreachable(error):
                if not remaining:
                    # Counted once the body has run: it may be what breaks the connection.
                    limit = environment.settings.max_recoveries if run.has_begun else None
                    return Concluded(Lost(f"The database was away: {error.orig}", limit))
            elif not (remaining and database.is_transient(error)):
                return Concluded(run.conclude(Failed(error)))
        # The cause (a server that restarts, a lock) may last a moment.
        time.sleep(RETRY_DELAY.before(MAX_RUNS - remaining))
    raise AssertionError("the last run returns")


def outcome_of(run: Run, ended: StepOutcome | Failed, *, is_concluded: bool) -> StepOutcome:
    if is_concluded and not isinstance(ended, Failed):
        return ended
    return run.conclude(ended)


def apply_ending(
    connection: Connection, environment: Environment, ended: Ending, chaining: NextClaim | None
) -> Applied | None:
    crash_points.reached("body")
    [applied] = commit.apply(
        connection,
        environment.store,
        [ended],
        environment.clock,
        chaining=chaining,
        read_back=environment.events.wanted,
    )
    return applied


def claim_lost(execution: ExecutionRecord) -> Raised:
    error = ClaimLost(execution.id, execution.step_name)
    return Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))


def may_help_to_repeat(ended: StepOutcome | Failed, environment: Environment) -> bool:
    if not isinstance(ended, Failed):
        return False
    if isinstance(ended.error, BodyTransactionLost | LoopMoved):
        return True
    return isinstance(ended.error, DBAPIError) and environment.store.database.is_transient(
        ended.error
    )


def _was_committed(environment: Environment, claimed: Claimed) -> bool:
    """True if the execution was committed although the answer was lost."""
    store = environment.store
    with store.reading() as connection:
        execution = store.executions.get(connection, claimed.execution.id)
    return execution is None or execution.claim_token != claimed.claim_token
