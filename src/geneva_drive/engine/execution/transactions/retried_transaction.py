"""Retry a transaction that ends an execution while the database is in trouble."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine import crash_points
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.body_end import Committed, Concluded
from geneva_drive.engine.execution.step_run import Failed, StepRun
from geneva_drive.engine.loops.cursor_saver import LoopMoved
from geneva_drive.engine.transaction_mark import BodyTransactionLost
from geneva_drive.engine.transitions.outcome import (
    ErrorDetails,
    Lost,
    Raised,
    Reaction,
    StepOutcome,
)
from geneva_drive.errors import (
    ClaimLost,
    DatabaseBusy,
    DatabaseUnavailable,
    MissingRights,
    NotMigrated,
    StorageError,
)
from geneva_drive.internal_backoff import InternalBackoff
from geneva_drive.storage.connections import typed_errors
from geneva_drive.storage.dialects.trouble import WriterHeld
from geneva_drive.storage.schema.records import ExecutionRecord

_MAX_ROLLBACKS = 5
_MAX_LOST_CONNECTIONS = 5
_DELAY = InternalBackoff(timedelta(milliseconds=50))

# The errors of opening, completing or committing a transaction.
OUTSIDE_BODY = (
    DBAPIError,
    NoFreeConnection,
    WriterHeld,
    BodyTransactionLost,
    LoopMoved,
    *typed_errors.PASSING,
)


class RollBack(Exception):
    """Rolls the transaction back; carries how the execution ended."""

    def __init__(self, ended: StepOutcome | Failed, *, is_concluded: bool = False) -> None:
        self.ended = ended
        self.is_concluded = is_concluded  # its after-hook has run


class ConnectionLost(RollBack):
    """The connection of the body's transaction was lost, however the body handled that."""

    def __init__(self, trouble: StorageError) -> None:
        super().__init__(Failed(trouble))


class Retries:
    """Decides whether a rolled back transaction runs again, and waits before it does."""

    def __init__(self, environment: Environment) -> None:
        self._database = environment.store.database
        self._max_recoveries = environment.settings.max_recoveries
        self._wait = self._database.wait(also_if_busy=True)
        self._rollbacks = 0
        self._lost_connections = 0

    def after(self, error: Exception, *, has_begun: bool) -> StepOutcome | Failed | None:
        """Return how the execution ends after a rollback; None to run the transaction again."""
        failure = error.ended if isinstance(error, RollBack) else Failed(error)
        if not isinstance(failure, Failed):
            return failure
        if isinstance(failure.error, BodyTransactionLost | LoopMoved):
            return self._after_rollback(failure)
        trouble = self._database.passing(failure.error)
        if trouble is None:
            return failure
        # The body may have broken the connection, unless the trouble is in another database, which
        # a registered loader or the `session_factory` uses.
        is_elsewhere = type(error) is RollBack and isinstance(failure.error, StorageError)
        if has_begun and isinstance(trouble, DatabaseUnavailable) and not is_elsewhere:
            self._lost_connections += 1
            if self._lost_connections == _MAX_LOST_CONNECTIONS:
                return Lost(f"The database was in trouble. {trouble}", self._max_recoveries)
        return self._after_trouble(failure, trouble, is_ours=not isinstance(error, RollBack))

    def _after_rollback(self, failure: Failed) -> Failed | None:
        self._rollbacks += 1
        if self._rollbacks == _MAX_ROLLBACKS:
            return failure
        time.sleep(_DELAY.before(self._rollbacks))
        return None

    def _after_trouble(
        self, failure: Failed, trouble: StorageError, *, is_ours: bool
    ) -> StepOutcome | Failed | None:
        is_ours = is_ours or isinstance(failure.error, StorageError)
        # If a statement of the user's caused these, only the user can remove the cause.
        if isinstance(trouble, MissingRights | NotMigrated) and not is_ours:
            return failure
        if self._wait.may_try_again(trouble):
            return None
        # The body itself may hold the lock, by a query that takes too long or on another engine.
        if isinstance(trouble, DatabaseBusy) and not is_ours and self._wait.has_lasted:
            return failure
        self._wait.give_up(trouble)
        return Lost(f"The database was in trouble. {trouble}", self._max_recoveries)

    def end(self) -> None:
        self._wait.is_over()


def run_retried(
    transaction: Callable[[], Committed], run: StepRun, environment: Environment, claimed: Claimed
) -> Concluded | Committed:
    """Run a transaction, and retry it while the database is in trouble, for at most a lease."""
    retries = Retries(environment)
    while True:
        is_concluded = run.has_begun = False
        try:
            committed = transaction()
        except RollBack as rolled_back:
            is_concluded = rolled_back.is_concluded
            ended = retries.after(rolled_back, has_begun=True)
        except OUTSIDE_BODY as error:
            if _was_committed(environment, claimed):
                return Committed(None)
            ended = retries.after(error, has_begun=run.has_begun)
        else:
            retries.end()
            return committed
        if ended is not None:
            return Concluded(outcome_of(run, ended, is_concluded=is_concluded))


def outcome_of(run: StepRun, ended: StepOutcome | Failed, *, is_concluded: bool) -> StepOutcome:
    if is_concluded and not isinstance(ended, Failed):
        return ended
    return run.conclude(ended)


def apply_ending(
    connection: Connection, environment: Environment, ended: EndedRun, chaining: NextClaim | None
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


def _was_committed(environment: Environment, claimed: Claimed) -> bool:
    """True if the transaction was committed although its answer was lost."""
    store = environment.store
    execution = store.read(
        lambda connection: store.executions.get(connection, claimed.execution.id)
    )
    return execution is None or execution.claim_token != claimed.claim_token
