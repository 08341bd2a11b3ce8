"""Steps with `transaction=True`: the body's writes commit with its outcome."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine import transaction_mark
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.body_end import Committed, Concluded, MayChain
from geneva_drive.engine.execution.step_run import Failed, StepRun
from geneva_drive.engine.execution.transactions.retried_transaction import (
    ConnectionLost,
    RollBack,
    apply_ending,
    claim_lost,
    run_retried,
)
from geneva_drive.engine.transaction_mark import BodyTransactionLost
from geneva_drive.engine.transitions.outcome import StepOutcome, keeps_writes


def run_step(
    run: StepRun, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Concluded | Committed:
    once = partial(_run_once, run, environment, claimed, may_chain)
    return run_retried(once, run, environment, claimed)


def _run_once(
    run: StepRun, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Committed:
    # Imported here: it loads SQLAlchemy's ORM, which only these steps need.
    from geneva_drive.engine.step_session import StepSession

    database = environment.store.database
    with (
        database.transaction() as connection,
        database.joining(connection) as joined,
        # Closing the session must leave the connection's transaction alone.
        StepSession(connection, join_transaction_mode="rollback_only") as session,
        run.context.within(session),
    ):
        transaction_mark.leave(connection)
        ended = run.run_body(session, flush=session.flush)
        if isinstance(ended, Failed) and connection.invalidated:
            raise ConnectionLost(database.lost_connection(ended.error))
        outcome = conclude_inside(run, ended, flush=session.flush)
        try:
            transaction_mark.find(connection, database)
        except BodyTransactionLost as lost:
            raise RollBack(Failed(lost)) from lost
        chaining = may_chain()
        ended_step = claimed.ending(outcome, may_chain=chaining is not None)
        applied = apply_ending(connection, environment, ended_step, chaining)
        if applied is None:
            # The body itself may have ended the claim, in this transaction. The rollback then
            # restores the claim, and committing the body's outcome would record it without its
            # writes. So the outcome becomes a lost claim.
            raise RollBack(claim_lost(claimed.execution), is_concluded=True)
    for notify in joined.to_tell:
        notify()
    return Committed(applied)


def conclude_inside(
    run: StepRun, ended: StepOutcome | Failed, flush: Callable[[], None]
) -> StepOutcome:
    """Return the outcome that commits with the body's transaction; raise to roll it back."""
    if isinstance(ended, Failed) or run.discards_writes:
        # The after-hook runs only after the rollback, which would discard its writes too.
        raise RollBack(ended)
    outcome = run.conclude(ended)
    if not keeps_writes(outcome):
        raise RollBack(outcome, is_concluded=True)
    try:
        flush()  # writes that the hooks made since the body ended
    except DBAPIError:
        raise
    except Exception as error:  # code of a mapper or a column type may raise anything
        raise RollBack(Failed(error)) from error
    return outcome
