"""Execute a claimed execution: check conditions and limits, then run the body."""

from __future__ import annotations

from collections.abc import Set
from functools import partial

from geneva_drive.engine.claimed_execution import Claimed, unserved
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution import detached_hero
from geneva_drive.engine.execution.body_end import Committed, Concluded, MayChain
from geneva_drive.engine.execution.step_run import Failed, StepRun
from geneva_drive.engine.execution.transactions.retried_loop import run_loop
from geneva_drive.engine.execution.transactions.retried_transaction import (
    RollBack,
    apply_ending,
    claim_lost,
    run_retried,
)
from geneva_drive.engine.execution.transactions.transactional_step import run_step
from geneva_drive.engine.limits import admission
from geneva_drive.engine.limits.admission import SlotRefused
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.transitions.outcome import (
    Awaiting,
    ContextUpdate,
    HandedOver,
    Lost,
    StepOutcome,
)
from geneva_drive.engine.waits.wait import WaitPlanned, open_wait
from geneva_drive.errors import AlreadyRunning, DatabaseBusy, GenevaDriveError
from geneva_drive.storage.connections.database_wait import TroubleLasts

_NOTHING: Set[str] = frozenset()
_BUSY = "busy"
_MAX_BUSY_LEASES = 10


def start(environment: Environment, claimed: Claimed, early_stops: EarlyStops) -> StepRun | None:
    """Return the run of a claimed execution; None if this process lacks its class."""
    definition = claimed.definition
    if definition is None:
        return None
    return StepRun(environment, claimed, definition, early_stops)


def execute(
    run: StepRun | None,
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
        try:
            return _run(run, environment, claimed, may_chain, ignores_limits=ignores_limits)
        except WaitPlanned as planned:
            prepared = _prepare_wait(run, planned)
            if isinstance(prepared, Failed):
                return Concluded(run.conclude(prepared))
            wait = partial(_begin_wait, environment, claimed, planned, prepared)
            return run_retried(wait, run, environment, claimed)
    except TroubleLasts as lasts:
        # A transactional loop is where its last commit left it.
        position = None if run.needs_transaction else run.position
        return Concluded(_release(run, lasts), position)
    finally:
        run.close()


def _run(
    run: StepRun,
    environment: Environment,
    claimed: Claimed,
    may_chain: MayChain,
    *,
    ignores_limits: bool,
) -> Concluded | Committed:
    """Check conditions and limits, then run the body.

    Raises `WaitPlanned` if the node must wait.
    """
    ended = run.prepare()
    if ended is not None:
        return Concluded(ended)
    if ignores_limits:
        run.wanted = ()
    refused = _take_slots(run, environment, claimed)
    if refused is not None:
        return Committed(refused.applied, has_run=False)
    if run.needs_transaction and run.loop is not None:
        return run_loop(run, run.loop, environment, claimed, may_chain)
    if run.needs_transaction:
        return run_step(run, environment, claimed, may_chain)
    return _run_plainly(run, claimed)


def _release(run: StepRun, lasts: TroubleLasts) -> StepOutcome:
    """Release an execution that waited for the database too long; not counted as a recovery.

    If the database stays busy, the step itself may be the cause: its query always takes too long,
    or its body holds a lock. So these releases have a count of their own, with a limit.
    """
    error = lasts.error
    if lasts.is_stopping:
        return Lost(f"Its worker was stopped while it waited for the database. {error}", None)
    if not isinstance(error, DatabaseBusy):
        return Lost(f"Its worker gave up waiting for the database. {error}", None)
    if run.count_of(_BUSY) + 1 >= _MAX_BUSY_LEASES:
        return run.conclude(Failed(error))
    return Lost(f"Its worker gave up waiting for the database. {error}", None, counts_as=_BUSY)


def _run_plainly(run: StepRun, claimed: Claimed) -> Concluded:
    outcome = run.conclude(run.run_body())
    if run.context.loaded_hero is not None:
        detached_hero.warn_of_changes(
            run.context.loaded_hero, claimed.execution.step_name, claimed.workflow.id
        )
    return Concluded(outcome, run.position)


# The update of the context and the metadata to write when the node begins to wait.
PreparedWait = tuple[ContextUpdate | None, str | None]


def _prepare_wait(run: StepRun, planned: WaitPlanned) -> PreparedWait | Failed:
    """Return what a document's step writes before it waits."""
    if run.document is None or planned.prepared is None:
        return None, None
    try:
        return run.document.prepared(planned.prepared)
    except GenevaDriveError as error:  # for example, the context is too large
        return Failed(error)


def _begin_wait(
    environment: Environment, claimed: Claimed, planned: WaitPlanned, prepared: PreparedWait
) -> Committed:
    """Open the wait and make its node wait, in one transaction without user code."""
    context, metadata = prepared
    with environment.store.database.transaction() as connection:
        try:
            opened = open_wait(connection, environment, planned.plan)
        except AlreadyRunning as refusal:
            raise RollBack(Failed(refusal)) from refusal
        # `opened.wait` is None if the wait is over already: the node runs again at once.
        wait = opened.wait
        outcome: StepOutcome = HandedOver(environment.clock.now())
        if wait is not None:
            outcome = Awaiting(wait, context, metadata)
        waiting = claimed.ending(outcome)
        applied = apply_ending(connection, environment, waiting, None)
        if applied is None:
            raise RollBack(claim_lost(claimed.execution), is_concluded=True)
    opened.announce(applied.workflow)
    return Committed(applied)


def _take_slots(run: StepRun, environment: Environment, claimed: Claimed) -> SlotRefused | None:
    if not run.wanted and claimed.execution.limit_key is None:
        return None
    refused = admission.admit(environment, claimed, run.wanted)
    if refused is not None:
        run.wanted = (refused.by,)
    return refused


def freed_limit_keys(run: StepRun | None, claimed: Claimed) -> Set[str]:
    """Return the keys of limits that may have room once this execution has left its thread."""
    wanted = run.wanted if run else ()
    waited_for = claimed.execution.limit_key
    if not wanted and waited_for is None:
        return _NOTHING  # nearly always
    keys = {one.key for one in wanted}
    return keys if waited_for is None else keys | {waited_for}
