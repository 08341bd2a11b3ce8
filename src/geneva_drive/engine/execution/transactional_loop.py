"""Loops with `transaction=True`: the writes of their items commit with the cursor."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.claimed import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.result import Committed, Concluded, MayChain
from geneva_drive.engine.execution.retried_transaction import (
    MAX_RUNS,
    RETRY_DELAY,
    RollBack,
    apply_ending,
    may_help_to_repeat,
    outcome_of,
)
from geneva_drive.engine.execution.step_run import Failed, Run
from geneva_drive.engine.execution.transactional_step import conclude_inside
from geneva_drive.engine.loops.cursor_saver import LoopMoved
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.transaction_mark import BodyTransactionLost
from geneva_drive.engine.transitions.outcome import Lost, Reattempted, StepOutcome, Suspended
from geneva_drive.errors import InvalidInput

logger = logging.getLogger(__name__)


def run_loop(
    run: Run, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Concluded | Committed:
    """Run a loop whose items commit with its cursor; repeat from there what was rolled back."""
    tries, completed = 0, loop.run.state.completed
    while True:
        ended: StepOutcome | Failed
        is_concluded = False
        try:
            return _run_once(run, loop, environment, claimed, may_chain)
        except RollBack as rolled_back:
            ended, is_concluded = rolled_back.ended, rolled_back.is_concluded
        except (DBAPIError, BodyTransactionLost, LoopMoved) as error:
            ended = Failed(error)
        # A checkpoint may have been committed although its answer was lost: read the row.
        execution = environment.store.read(
            lambda c: environment.store.executions.get(c, claimed.execution.id)
        )
        if execution is None or execution.claim_token != claimed.claim_token:
            logger.warning(
                "This worker lost its claim of execution %s; what its loop had not committed was "
                "rolled back",
                claimed.execution.id,
            )
            return Committed(None)
        try:
            loop.restart_from(execution)
        except InvalidInput as unreadable:
            return Concluded(run.conclude(Failed(unreadable)))
        if loop.run.state.completed > completed:
            tries, completed = 0, loop.run.state.completed
        tries += 1
        if tries == MAX_RUNS or not may_help_to_repeat(ended, environment):
            blamed = _blamed(ended, environment)
            outcome = outcome_of(run, blamed, is_concluded=is_concluded)
            return Concluded(outcome, run.position)
        time.sleep(RETRY_DELAY.before(tries))


def _run_once(
    run: Run, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Committed:
    # Imported here: it loads SQLAlchemy's ORM, which only these steps need.
    from geneva_drive.engine.loops.loop_transaction import LoopTransaction

    with LoopTransaction(environment, loop) as transaction:
        ended = run.run_body(transaction.session, flush=transaction.flush)
        outcome = conclude_inside(run, ended, flush=transaction.flush)
        if isinstance(outcome, Suspended | Reattempted) and not loop.run.is_between_items:
            # Within an item: its writes would be repeated.
            raise RollBack(outcome, is_concluded=True)
        chaining = may_chain()
        ended_loop = replace(
            claimed.ending(outcome, may_chain=chaining is not None, position=loop.position()),
            saved_iterations=loop.saver.saved_iterations,
        )
        applied = apply_ending(transaction.connection, environment, ended_loop, chaining)
        if applied is None:
            # Either the claim was lost, or a checkpoint was saved meanwhile: read the row.
            raise LoopMoved
        transaction.commit()
    return Committed(applied)


def _blamed(ended: StepOutcome | Failed, environment: Environment) -> StepOutcome | Failed:
    """Return `Lost` if the database was away; counted, as the body may be the cause."""
    error = ended.error if isinstance(ended, Failed) else None
    if isinstance(error, DBAPIError) and environment.store.database.is_unreachable(error):
        why = f"The database was away: {error.orig}"
        return Lost(why, environment.settings.max_recoveries)
    return ended
