"""Random graphs, run in random orders: no node starts early, is lost or runs twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.passed_step import SKIP
from geneva_drive.engine.commands.pause import pause
from geneva_drive.engine.commands.repair import pass_over, reattempt
from geneva_drive.engine.commands.resume import resume as resume_command
from geneva_drive.engine.graphs.node_states import NodeStatus, node_statuses
from geneva_drive.engine.transitions.outcome import (
    Canceled,
    Finished,
    HandedOver,
    Lost,
    Paused,
    Raised,
    Reaction,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
)
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome, Request, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.engine.cases import ERROR, NOW, reattempting
from tests.engine.ledger import Ledger, Shape

Choosing = Callable[[Random, Ledger, ExecutionRecord], StepOutcome]

MOST_TURNS = 2_000
# What lets a node be done sooner or later.
GOOD: tuple[StepOutcome, ...] = (
    Returned(),
    Returned(),
    Returned(),
    Skipped(Outcome.SKIPPED_BY_CONDITION),
    Reattempted(timedelta(0)),
    Raised(ERROR, reattempting(None)),
    Raised(ERROR, Reaction(action=ExceptionAction.SKIP)),
    Lost("Worker w was lost.", None),
    HandedOver(NOW),
)
HOLDING: tuple[StepOutcome, ...] = (
    Raised(ERROR, Reaction(action=ExceptionAction.PAUSE)),
    Paused("wait"),
)
CLOSING: tuple[StepOutcome, ...] = (
    Finished(),
    Canceled(Outcome.CANCELED_BY_FLOW_CONTROL),
    Raised(ERROR, Reaction(action=ExceptionAction.CANCEL)),
)


@st.composite
def shapes(draw: st.DrawFn, *, smallest: int = 0) -> Shape:
    """Edges that lead back in a hidden order, declared in any other."""
    hidden = [f"n{number}" for number in range(draw(st.integers(smallest, 9)))]
    edges = {
        node: draw(st.lists(st.sampled_from(hidden[:place]), max_size=3)) if place else []
        for place, node in enumerate(hidden)
    }
    decisions = draw(st.sets(st.sampled_from(hidden), max_size=3)) if hidden else set()
    declared = draw(st.permutations(hidden))
    return Shape(edges={node: edges[node] for node in declared}, decisions=frozenset(decisions))


chances = st.integers(0, 2**32).map(Random)


def well(chance: Random, ledger: Ledger, row: ExecutionRecord) -> StepOutcome:
    outcome = chance.choice(GOOD)
    node = ledger.definition.get(row.step_name)
    if node is None or node.is_removed:
        return Skipped(Outcome.SKIPPED_BY_REMOVAL)
    if isinstance(outcome, Returned) and node.kind == "decision":
        branches = ledger.definition.graph.dependants[row.node_id]
        return Returned(chosen=tuple(one for one in branches if chance.random() < 1 / 2))
    return outcome


def now_and_then(others: tuple[StepOutcome, ...]) -> Choosing:
    def choose(chance: Random, ledger: Ledger, row: ExecutionRecord) -> StepOutcome:
        return chance.choice(others) if chance.random() < 1 / 4 else well(chance, ledger, row)

    return choose


def take_turn(ledger: Ledger, chance: Random, choose: Choosing = well) -> None:
    """Claim something, or let some of what runs end together."""
    running, claimable = ledger.running, ledger.claimable
    if claimable and (not running or chance.random() < 1 / 2):
        ledger.claim(chance.choice(claimable))
    else:
        ended = chance.sample(running, chance.randint(1, len(running)))
        ledger.end({row.id: choose(chance, ledger, row) for row in ended})


def run(ledger: Ledger, chance: Random, choose: Choosing = well, turns: int = MOST_TURNS) -> None:
    """Go on until nothing can."""
    for _ in range(turns):
        if not ledger.running and not ledger.claimable:
            return
        # What may be drawn again and again must not be drawn for ever.
        take_turn(ledger, chance, choose)


def finish(ledger: Ledger) -> None:
    """Let all that is left succeed."""
    run(ledger, Random(0))


def resume(ledger: Ledger) -> None:
    ledger.command(lambda subject: resume_command(subject))


def assert_every_node_is_done_once(ledger: Ledger) -> None:
    assert ledger.workflow.state is WorkflowState.FINISHED
    assert {len(ledger.done(node)) for node in ledger.definition.graph.order} <= {1}
    assert ledger.lock_active() == []


@given(shapes(), chances)
def test_what_succeeds_sooner_or_later_is_done_once_and_finishes_the_workflow(
    shape: Shape, chance: Random
) -> None:
    ledger = Ledger(shape)

    run(ledger, chance)
    finish(ledger)

    assert_every_node_is_done_once(ledger)


@given(shapes(), chances)
def test_branches_that_nobody_chose_are_passed_over_and_never_run(
    shape: Shape, chance: Random
) -> None:
    ledger = Ledger(shape)

    run(ledger, chance)
    finish(ledger)

    statuses = node_statuses(ledger.definition, ledger.definition.graph, ledger.rows)
    parents = ledger.definition.graph.parents
    for row in ledger.rows:
        above = [statuses[parent] for parent in parents[row.node_id]]
        is_unchosen = any(one.chosen is not None and row.node_id not in one.chosen for one in above)
        is_behind = bool(above) and all(_is_passed_over(one) for one in above)
        assert (row.outcome is Outcome.SKIPPED_BY_BRANCH) is (is_unchosen or is_behind)
        assert (row.started_at is None) is (is_unchosen or is_behind)


def _is_passed_over(one: NodeStatus) -> bool:
    return one.outcome is Outcome.SKIPPED_BY_BRANCH


@given(shapes(), chances)
def test_what_failed_or_was_paused_is_run_again_by_resume_until_all_is_done(
    shape: Shape, chance: Random
) -> None:
    ledger = Ledger(shape)

    for _ in range(10):
        run(ledger, chance, now_and_then(HOLDING))
        if ledger.workflow.state is WorkflowState.PAUSED:
            resume(ledger)
    finish(ledger)

    assert_every_node_is_done_once(ledger)


@given(shapes(smallest=1), chances, st.integers(0, 30))
def test_nothing_starts_after_a_pause_was_asked_for_and_the_last_end_pauses(
    shape: Shape, chance: Random, turns: int
) -> None:
    ledger = Ledger(shape)
    run(ledger, chance, turns=turns)
    assume(ledger.workflow.state is WorkflowState.READY)

    ledger.command(partial(pause, reason="enough"))
    claims = ledger.claims
    run(ledger, chance)

    is_over = ledger.workflow.state is WorkflowState.FINISHED
    assert is_over or (ledger.workflow.state, ledger.workflow.paused_reason) == ("paused", "enough")
    assert ledger.claims == claims

    run_or_resume(ledger, chance)
    assert_every_node_is_done_once(ledger)


@given(shapes(smallest=1), chances, st.integers(0, 30))
def test_nothing_starts_after_a_cancel_was_asked_for_and_the_last_end_cancels(
    shape: Shape, chance: Random, turns: int
) -> None:
    ledger = Ledger(shape)
    run(ledger, chance, now_and_then(HOLDING), turns=turns)
    assume(ledger.workflow.state in (WorkflowState.READY, WorkflowState.PAUSED))

    ledger.command(partial(cancel, reason=None, force=False))
    claims = ledger.claims
    run(ledger, chance, now_and_then(HOLDING))

    assert ledger.workflow.state in ENDED_WORKFLOW_STATES
    is_done = {bool(ledger.done(node)) for node in ledger.definition.graph.order} == {True}
    assert (ledger.workflow.state is WorkflowState.FINISHED) is is_done
    assert ledger.claims == claims
    assert ledger.lock_active() == []


@given(shapes(smallest=1), chances)
def test_a_node_that_ends_its_workflow_closes_all_that_waits_and_lets_the_rest_end(
    shape: Shape, chance: Random
) -> None:
    ledger = Ledger(shape)

    run(ledger, chance, now_and_then(CLOSING + HOLDING))
    while ledger.workflow.state is WorkflowState.PAUSED:
        resume(ledger)
        run(ledger, chance, now_and_then(CLOSING))

    assert ledger.workflow.state in ENDED_WORKFLOW_STATES
    assert ledger.lock_active() == []


@given(shapes(smallest=1), chances, st.integers(0, 30), st.data())
def test_nodes_that_newer_code_has_removed_hold_nobody_up(
    shape: Shape, chance: Random, turns: int, data: st.DataObject
) -> None:
    ledger = Ledger(shape)
    run(ledger, chance, now_and_then(HOLDING), turns=turns)
    assume(ledger.workflow.state in (WorkflowState.READY, WorkflowState.PAUSED))

    ledger.definition = shape.compiled(data.draw(st.frozensets(st.sampled_from(list(shape.edges)))))
    run_or_resume(ledger, chance)

    assert_every_node_is_done_once(ledger)


@given(shapes(smallest=1), chances)
def test_whatever_operators_do_a_workflow_goes_on_is_held_or_is_over(
    shape: Shape, chance: Random
) -> None:
    ledger = Ledger(shape)

    for _ in range(40):
        if chance.random() < 1 / 4:
            do_something(ledger, chance)
        elif ledger.running or ledger.claimable:
            take_turn(ledger, chance, now_and_then(HOLDING))
    run_or_resume(ledger, chance)

    assert ledger.workflow.state in ENDED_WORKFLOW_STATES
    assert ledger.lock_active() == []


def do_something(ledger: Ledger, chance: Random) -> None:
    """Give a command, which may be refused; what was asked for before stays asked for."""
    asked = ledger.workflow.requested
    node = chance.choice(ledger.definition.graph.order)
    decision = chance.choice(
        (
            partial(pass_over, step=node, passage=SKIP),
            partial(pass_over, step=node, passage=SKIP),
            partial(reattempt, step=node, rewind=False),
            partial(pause, reason=None),
            resume_command,
            partial(cancel, reason=None, force=False),
        )
    )
    with suppress(InvalidStateError):
        ledger.command(decision)
    if asked is Request.CANCEL:
        state = ledger.workflow.state
        assert ledger.workflow.requested is Request.CANCEL or state in ENDED_WORKFLOW_STATES


def run_or_resume(ledger: Ledger, chance: Random) -> None:
    """Let all that is left succeed, and resume what is paused."""
    for _ in range(10):
        run(ledger, chance)
        if ledger.workflow.state is not WorkflowState.PAUSED:
            return
        resume(ledger)
