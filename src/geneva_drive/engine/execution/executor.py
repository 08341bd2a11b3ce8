"""From a claimed execution to its outcome, with or without the user's transaction around it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine import crash_points, transaction_mark
from geneva_drive.engine.claimed import Claimed, unserved
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.creation import NewWorkflow
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.bodies import ChildPlanned, start_child, tell_of_child
from geneva_drive.engine.execution.run import Failed, Run
from geneva_drive.engine.limits import admission
from geneva_drive.engine.limits.admission import Refused
from geneva_drive.engine.loops.step_loop import Breaks, LoopMoved, StepLoop
from geneva_drive.engine.transaction_mark import BodyTransactionLost
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.engine.transitions.outcome import (
    Awaiting,
    ErrorDetails,
    Lost,
    Raised,
    Reaction,
    Reattempted,
    StepOutcome,
    Suspended,
    keeps_writes,
)
from geneva_drive.engine.transitions.wait import ChildWait
from geneva_drive.errors import AlreadyRunning, ClaimLost, InvalidInput
from geneva_drive.storage.schema.records import ExecutionRecord

logger = logging.getLogger(__name__)

_NOTHING: Set[str] = frozenset()
_MAX_RUNS = 5
_FIRST_REST = 0.05  # seconds before the body runs again; doubled each time

# Asked only when the outcome is written: by then the worker may have begun to stop.
MayChain = Callable[[], Chaining | None]


@dataclass(frozen=True, slots=True)
class Concluded:
    """The body is over; what came of it is still to be committed."""

    outcome: StepOutcome
    position: LoopPosition | None = None  # where the loop of a resumable step stands


@dataclass(frozen=True, slots=True)
class Committed:
    """What came of it was committed: with the body's own work, or before the body could run."""

    applied: Applied | None
    has_run: bool = True


class _RollBack(Exception):
    def __init__(self, ended: StepOutcome | Failed, *, is_concluded: bool = False) -> None:
        self.ended = ended
        self.is_concluded = is_concluded  # its after-hook has run


def perform(
    run: Run | None,
    environment: Environment,
    claimed: Claimed,
    may_chain: MayChain,
    *,
    ignores_limits: bool = False,
) -> Concluded | Committed:
    """Run a claimed execution to its outcome; no lock is held while user code runs."""
    if run is None:
        return Concluded(unserved(claimed, environment.settings.max_recoveries))
    try:
        ended = run.prepare()
        if ended is not None:
            return Concluded(ended)
        if ignores_limits:
            run.wanted = ()
        refused = _ask_for_slots(run, environment, claimed)
        if refused is not None:
            return Committed(refused.applied, has_run=False)
        if run.needs_transaction and run.loop is not None:
            return _loop_in_transactions(run, run.loop, environment, claimed, may_chain)
        if run.needs_transaction:
            in_one = partial(_run_and_commit, run, environment, claimed, may_chain)
            return _commit_within(in_one, run, environment, claimed)
        return _perform_plainly(run, environment, claimed)
    finally:
        run.close()


def _perform_plainly(run: Run, environment: Environment, claimed: Claimed) -> Concluded | Committed:
    try:
        ended = run.run_body()
    except ChildPlanned as planned:
        start = partial(_start_child, environment, claimed, planned.child)
    else:
        outcome = run.conclude(ended)
        return Concluded(outcome, run.position)
    return _commit_within(start, run, environment, claimed)


def _ask_for_slots(run: Run, environment: Environment, claimed: Claimed) -> Refused | None:
    if not run.wanted and claimed.execution.limit_key is None:
        return None
    refused = admission.admit(environment, claimed, run.wanted)
    if refused is not None:
        run.wanted = (refused.by,)
    return refused


def freed_by(run: Run | None, claimed: Claimed) -> Set[str]:
    """Name the limits to look at when an execution has ended, was parked, or let its turn go by."""
    wanted = run.wanted if run else ()
    waited_for = claimed.execution.limit_key
    if not wanted and waited_for is None:
        return _NOTHING  # as nearly all do
    keys = {one.key for one in wanted}
    return keys if waited_for is None else keys | {waited_for}


def start(environment: Environment, claimed: Claimed, breaks: Breaks) -> Run | None:
    """Get an execution ready to run; None if its class is not in this process."""
    definition = claimed.definition
    if definition is None:
        return None
    return Run(environment, claimed, definition, breaks)


def with_stored_nodes(environment: Environment, claimed: Sequence[Claimed]) -> list[Claimed]:
    """Read the nodes of those whose graph is stored, unless they are known."""
    wanted = [
        (one.workflow.id, one.execution.node_id)
        for one in claimed
        if one.workflow.has_graph and one.stored is None
    ]
    if not wanted:
        return list(claimed)
    store = environment.store
    nodes = store.read_at_once(lambda connection: store.graphs.nodes(connection, wanted))
    return [
        replace(one, stored=nodes.get((one.workflow.id, one.execution.node_id), one.stored))
        for one in claimed
    ]


def ending(
    claimed: Claimed,
    outcome: StepOutcome,
    *,
    may_chain: bool = False,
    position: LoopPosition | None = None,
) -> Ending:
    return Ending(
        workflow_id=claimed.workflow.id,
        execution_id=claimed.execution.id,
        claim_token=claimed.claim_token,
        definition=claimed.definition,
        outcome=outcome,
        may_chain=may_chain,
        position=position,
        stored=claimed.stored,
        seen=(claimed.workflow, claimed.execution),
    )


def _commit_within(
    transaction: Callable[[], Committed], run: Run, environment: Environment, claimed: Claimed
) -> Concluded | Committed:
    """Go through a transaction, again and again if what stood in its way may pass."""
    for remaining in reversed(range(_MAX_RUNS)):
        try:
            return transaction()
        except _RollBack as rolled_back:
            ended = rolled_back.ended
            if not (remaining and _may_help_to_repeat(ended, environment)):
                return Concluded(_outcome_of(run, ended, is_concluded=rolled_back.is_concluded))
        except DBAPIError as error:
            # Raised around the body: when the transaction was opened, completed or committed.
            if _was_committed(environment, claimed):
                return Committed(None)
            database = environment.store.database
            if database.is_unreachable(error):
                if not remaining:
                    # Counted once the body has run: it may be what costs it its connection.
                    limit = environment.settings.max_recoveries if run.has_begun else None
                    return Concluded(Lost(f"The database was away: {error.orig}", limit))
            elif not (remaining and database.is_transient(error)):
                return Concluded(run.conclude(Failed(error)))
        # What took the transaction away (a server that restarts, a lock) may take the next one too.
        time.sleep(_FIRST_REST * 2 ** (_MAX_RUNS - 1 - remaining))
    raise AssertionError("the last run returns")


def _run_and_commit(
    run: Run, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Committed:
    # Loads SQLAlchemy's ORM, which only these steps need.
    from geneva_drive.engine.step_session import StepSession

    database = environment.store.database
    with (
        database.transaction() as connection,
        database.joining(connection) as joined,
        # The connection's transaction is ours: closing the session must leave it alone.
        StepSession(connection, join_transaction_mode="rollback_only") as session,
    ):
        transaction_mark.leave(connection)
        ended = run.run_body(session, flush=session.flush)
        outcome = _conclude_inside(run, ended, flush=session.flush)
        try:
            transaction_mark.find(connection, database)
        except BodyTransactionLost as lost:
            raise _RollBack(Failed(lost)) from lost
        chaining = may_chain()
        ended_step = ending(claimed, outcome, may_chain=chaining is not None)
        applied = _apply(connection, environment, ended_step, chaining)
        if applied is None:
            # Not its outcome again: if the body itself had given up its claim in here, the step
            # would be recorded without its writes.
            raise _RollBack(_lost(claimed.execution), is_concluded=True)
    for tell in joined.to_tell:
        tell()
    return Committed(applied)


def _conclude_inside(
    run: Run, ended: StepOutcome | Failed, flush: Callable[[], None]
) -> StepOutcome:
    """Return the outcome that commits with the body's transaction; raise to roll it back."""
    if isinstance(ended, Failed) or run.discards_writes:
        # Concluded after the rollback, which would take the writes of the after-hook along.
        raise _RollBack(ended)
    outcome = run.conclude(ended)
    if not keeps_writes(outcome):
        raise _RollBack(outcome, is_concluded=True)
    try:
        flush()  # what the hooks have written since the body ended
    except DBAPIError:
        raise
    except Exception as error:  # a mapper's or a type's own code may raise anything
        raise _RollBack(Failed(error)) from error
    return outcome


def _outcome_of(run: Run, ended: StepOutcome | Failed, *, is_concluded: bool) -> StepOutcome:
    if is_concluded and not isinstance(ended, Failed):
        return ended
    return run.conclude(ended)


def _start_child(environment: Environment, claimed: Claimed, new: NewWorkflow) -> Committed:
    """Create the child, and let its node wait for it; all user code is over."""
    with environment.store.database.transaction() as connection:
        try:
            created = start_child(connection, environment, new)
        except AlreadyRunning as refusal:
            raise _RollBack(Failed(refusal)) from refusal
        waiting = ending(claimed, Awaiting(ChildWait(created.workflow.id)))
        applied = _apply(connection, environment, waiting, None)
        if applied is None:
            raise _RollBack(_lost(claimed.execution), is_concluded=True)
    tell_of_child(environment, created)
    return Committed(applied)


def _loop_in_transactions(
    run: Run, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Concluded | Committed:
    """Run a loop whose items commit with its cursor; what is lost is done again from there."""
    tries, completed = 0, loop.run.state.completed
    while True:
        ended: StepOutcome | Failed
        is_concluded = False
        try:
            return _run_loop(run, loop, environment, claimed, may_chain)
        except _RollBack as rolled_back:
            ended, is_concluded = rolled_back.ended, rolled_back.is_concluded
        except (DBAPIError, BodyTransactionLost, LoopMoved) as error:
            ended = Failed(error)
        # A checkpoint whose answer was lost may have been committed: the row knows.
        execution = environment.store.read(
            lambda c: environment.store.executions.get(c, claimed.execution.id)
        )
        if execution is None or execution.claim_token != claimed.claim_token:
            logger.warning(
                "Execution %s is no longer held by this worker; what its loop had not committed "
                "was rolled back",
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
        if tries == _MAX_RUNS or not _may_help_to_repeat(ended, environment):
            blamed = _blamed(ended, environment)
            outcome = _outcome_of(run, blamed, is_concluded=is_concluded)
            return Concluded(outcome, run.position)
        time.sleep(_FIRST_REST * 2 ** (tries - 1))


def _run_loop(
    run: Run, loop: StepLoop, environment: Environment, claimed: Claimed, may_chain: MayChain
) -> Committed:
    # Loads SQLAlchemy's ORM, which only these steps need.
    from geneva_drive.engine.loops.transactional_loop import LoopTransaction

    with LoopTransaction(environment, loop) as transaction:
        ended = run.run_body(transaction.session, flush=transaction.flush)
        outcome = _conclude_inside(run, ended, flush=transaction.flush)
        if isinstance(outcome, Suspended | Reattempted) and not loop.run.is_between_items:
            # In the midst of an item: what is written of it would be written again.
            raise _RollBack(outcome, is_concluded=True)
        chaining = may_chain()
        ended_loop = replace(
            ending(claimed, outcome, may_chain=chaining is not None, position=loop.position()),
            saved_iterations=loop.saved_iterations,
        )
        applied = _apply(transaction.connection, environment, ended_loop, chaining)
        if applied is None:
            # Whether the claim was lost, or some of it had been saved, the row knows.
            raise LoopMoved
        transaction.commit()
    return Committed(applied)


def _blamed(ended: StepOutcome | Failed, environment: Environment) -> StepOutcome | Failed:
    """Let a database that was away be nobody's failure; counted, as the body may be the cause."""
    error = ended.error if isinstance(ended, Failed) else None
    if isinstance(error, DBAPIError) and environment.store.database.is_unreachable(error):
        why = f"The database was away: {error.orig}"
        return Lost(why, environment.settings.max_recoveries)
    return ended


def _apply(
    connection: Connection, environment: Environment, ended: Ending, chaining: Chaining | None
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


def _lost(execution: ExecutionRecord) -> Raised:
    error = ClaimLost(execution.id, execution.step_name)
    return Raised(ErrorDetails.of(error), Reaction(action=ExceptionAction.PAUSE))


def _may_help_to_repeat(ended: Any, environment: Environment) -> bool:
    if not isinstance(ended, Failed):
        return False
    if isinstance(ended.error, BodyTransactionLost | LoopMoved):
        return True
    return isinstance(ended.error, DBAPIError) and environment.store.database.is_transient(
        ended.error
    )


def _was_committed(environment: Environment, claimed: Claimed) -> bool:
    """Look whether a commit whose answer was lost had happened."""
    store = environment.store
    with store.reading() as connection:
        execution = store.executions.get(connection, claimed.execution.id)
    return execution is None or execution.claim_token != claimed.claim_token
