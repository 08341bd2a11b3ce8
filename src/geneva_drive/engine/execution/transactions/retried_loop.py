"""Run a loop with `transaction=True`; after a rollback, run it again from its saved cursor."""

from __future__ import annotations

import logging
from dataclasses import replace

from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.body_end import Committed, Concluded, MayChain
from geneva_drive.engine.execution.step_run import Failed, StepRun
from geneva_drive.engine.execution.transactions.retried_transaction import (
    OUTSIDE_BODY,
    ConnectionLost,
    Retries,
    RollBack,
    apply_ending,
    outcome_of,
)
from geneva_drive.engine.execution.transactions.transactional_step import conclude_inside
from geneva_drive.engine.loops.cursor_saver import LoopMoved
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.transitions.outcome import Reattempted, Suspended
from geneva_drive.errors import InvalidInput

logger = logging.getLogger(__name__)


def run_loop(
    run: StepRun, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Concluded | Committed:
    """Run a loop whose items commit with its cursor; after a rollback, continue from the cursor."""
    retries, completed = Retries(environment), loop.run.state.completed
    while True:
        run.has_begun = False
        failed: Exception
        try:
            committed = _run_once(run, loop, environment, claimed, may_chain)
        except RollBack as rolled_back:
            failed = rolled_back
        except OUTSIDE_BODY as error:
            failed = error
        else:
            retries.end()
            return committed
        # A checkpoint may have been committed although its answer was lost: read the row.
        execution = environment.store.read(
            lambda c: environment.store.executions.get(c, claimed.execution.id)
        )
        if execution is None or execution.claim_token != claimed.claim_token:
            logger.warning(
                "This worker lost its claim of execution %s; the uncommitted items of its loop "
                "were rolled back",
                claimed.execution.id,
            )
            return Committed(None)
        try:
            loop.restart_from(execution)
        except InvalidInput as unreadable:
            return Concluded(run.conclude(Failed(unreadable)))
        if loop.run.state.completed > completed:
            retries, completed = Retries(environment), loop.run.state.completed
        ended = retries.after(failed, has_begun=run.has_begun)
        if ended is not None:
            is_concluded = isinstance(failed, RollBack) and failed.is_concluded
            outcome = outcome_of(run, ended, is_concluded=is_concluded)
            return Concluded(outcome, run.position)


def _run_once(
    run: StepRun, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Committed:
    # Imported here: it loads SQLAlchemy's ORM, which only these steps need.
    from geneva_drive.engine.loops.loop_transaction import LoopTransaction

    with (
        LoopTransaction(environment, loop) as transaction,
        run.context.within(transaction.session),
    ):
        ended = run.run_body(transaction.session, flush=transaction.flush)
        if isinstance(ended, Failed) and transaction.is_connection_lost:
            raise ConnectionLost(environment.store.database.lost_connection(ended.error))
        outcome = conclude_inside(run, ended, flush=transaction.flush)
        if isinstance(outcome, Suspended | Reattempted) and not loop.run.is_between_items:
            # The loop stopped within an item, which will run again: do not keep its writes.
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
