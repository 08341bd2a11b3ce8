from __future__ import annotations

from datetime import timedelta
from operator import neg

from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.change import Change
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.outcome import (
    Canceled,
    Finished,
    HandedOver,
    Lost,
    Parked,
    Paused,
    Raised,
    Reaction,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
    recorded_outcome,
)
from geneva_drive.serialization.typed_json import dump
from geneva_drive.states import (
    ACTIVE_STEP_STATES,
    ENDED_WORKFLOW_STATES,
    STEP_MOVES,
    WORKFLOW_MOVES,
    Outcome,
    Request,
    StepState,
    WorkflowState,
)
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from tests.engine.cases import DEFINITION, ERROR, NOW, execution, reattempting, workflow

spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=1000))
errors = st.none() | st.just(ERROR)
limits = st.none() | st.integers(0, 5)
policies = st.sampled_from(["step.0", "step.1", "class.0"])
terminal_actions = st.sampled_from(
    [ExceptionAction.PAUSE, ExceptionAction.CANCEL, ExceptionAction.SKIP]
)
reactions = st.one_of(
    terminal_actions.map(lambda action: Reaction(action=action)),
    st.builds(
        lambda limit, wait, policy, then: reattempting(limit, wait=wait, policy=policy, then=then),
        limits,
        spans,
        policies,
        terminal_actions,
    ),
)
outcomes: st.SearchStrategy[StepOutcome] = st.one_of(
    st.builds(Returned, st.none() | st.just("[]")),
    st.builds(
        Skipped,
        st.sampled_from(
            [
                Outcome.SKIPPED_BY_CONDITION,
                Outcome.SKIPPED_BY_FLOW_CONTROL,
                Outcome.SKIPPED_BY_REMOVAL,
            ]
        ),
        errors,
    ),
    st.builds(Finished, errors),
    st.builds(Reattempted, spans, errors),
    st.builds(
        Canceled,
        st.sampled_from([Outcome.CANCELED_BY_CONDITION, Outcome.CANCELED_BY_FLOW_CONTROL]),
        errors,
    ),
    st.builds(Paused, st.none() | st.text(), errors),
    st.builds(Raised, st.just(ERROR), reactions, st.booleans()),
    st.builds(Lost, st.just("Worker w was lost."), limits),
    st.builds(HandedOver, (spans | spans.map(neg)).map(lambda span: NOW + span)),
    st.builds(Parked, st.text(min_size=1)),
)
workflows = st.builds(
    lambda requested, reason, queue, priority: workflow(
        requested=requested, requested_reason=reason, queue=queue, priority=priority
    ),
    st.none() | st.sampled_from(Request),
    st.none() | st.text(),
    st.none() | st.just("urgent"),
    st.none() | st.integers(-9, 9),
)
executions = st.builds(
    lambda name, counts, recoveries: execution(
        name, failures=dump(counts) if counts else None, recoveries=recoveries
    ),
    st.sampled_from(["first", "gone", "former", "second", "last"]),
    st.dictionaries(policies, st.integers(1, 6)),
    st.integers(0, 6),
)


def active_after(change: Change) -> list[tuple[str, Request | None]]:
    """What may still run once the change is written: step and hold."""
    moved = [
        (move.record.step_name, move.stop)
        for move in change.executions
        if move.state in ACTIVE_STEP_STATES
    ]
    return moved + [
        (new.step_name, new.stop) for new in change.schedule if new.state in ACTIVE_STEP_STATES
    ]


@given(workflows, executions, outcomes)
def test_every_decision_makes_legal_moves_only(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    change = decide(DEFINITION, record, running, outcome, NOW)

    assert change.workflow.state in WORKFLOW_MOVES[record.state]
    assert [move.record for move in change.executions] == [running]
    assert change.executions[0].state in STEP_MOVES[StepState.IN_PROGRESS]
    assert {new.state for new in change.schedule} <= {StepState.SCHEDULED, StepState.CANCELED}


@given(workflows, executions, outcomes)
def test_what_can_be_claimed_is_free_and_awake(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    [move] = decide(DEFINITION, record, running, outcome, NOW).executions

    may_run = move.state is StepState.SCHEDULED and move.stop is None
    waits = [move.claimable, move.wakes_at is not None, move.limit_key is not None]
    assert waits.count(True) == (1 if may_run else 0)
    assert move.wakes_at is None or move.wakes_at > NOW


@given(workflows, executions, outcomes)
def test_a_workflow_goes_on_or_has_ended_or_is_paused_and_never_two_of_these(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    change = decide(DEFINITION, record, running, outcome, NOW)

    moved, active = change.workflow, active_after(change)
    goes_on = moved.state is WorkflowState.READY and active == [(moved.next_step_name, None)]
    has_ended = moved.state in ENDED_WORKFLOW_STATES and not active and moved.next_step_name is None
    is_paused = (
        moved.state is WorkflowState.PAUSED
        and moved.next_step_name is not None
        and moved.paused_step_name == moved.next_step_name
        and active in ([], [(moved.next_step_name, Request.PAUSE)])
    )
    assert [goes_on, has_ended, is_paused].count(True) == 1


@given(workflows, executions, outcomes)
def test_a_request_is_spent_by_the_decision(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    change = decide(DEFINITION, record, running, outcome, NOW)

    allowed = {
        None: set(WorkflowState),
        Request.PAUSE: {WorkflowState.PAUSED, *ENDED_WORKFLOW_STATES},
        Request.CANCEL: set(ENDED_WORKFLOW_STATES),
    }
    assert change.workflow.requested is None
    assert change.workflow.requested_reason is None
    assert change.workflow.state in allowed[record.requested]


@given(executions, outcomes, workflows)
def test_an_end_is_recorded_as_it_was_announced(
    running: ExecutionRecord, outcome: StepOutcome, record: WorkflowRecord
) -> None:
    announced = recorded_outcome(outcome, running)

    change = decide(DEFINITION, record, running, outcome, NOW)

    operators = Outcome.CANCELED_BY_OPERATOR if record.requested is Request.CANCEL else None
    assert change.executions[0].outcome == (announced or operators)


@given(workflows, executions, outcomes)
def test_nothing_is_scheduled_in_the_past_or_twice(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    change = decide(DEFINITION, record, running, outcome, NOW)

    assert len(change.schedule) <= 1
    assert all(new.scheduled_for >= NOW for new in change.schedule)
    assert all(
        new.step_name in {*DEFINITION.step_names, running.step_name} for new in change.schedule
    )


@given(workflows, executions, outcomes)
def test_a_request_changes_neither_the_end_nor_what_is_counted(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    asked = decide(DEFINITION, record, running, outcome, NOW)

    unasked = decide(DEFINITION, workflow(queue=record.queue), running, outcome, NOW)

    assert asked.dead_letter == unasked.dead_letter
    assert asked.executions[0].error == unasked.executions[0].error
    assert asked.executions[0].result == unasked.executions[0].result
    assert [(n.step_name, n.scheduled_for, n.failures, n.recoveries) for n in asked.schedule] == [
        (n.step_name, n.scheduled_for, n.failures, n.recoveries) for n in unasked.schedule
    ]


@given(workflows, executions, outcomes)
def test_the_same_question_has_the_same_answer(
    record: WorkflowRecord, running: ExecutionRecord, outcome: StepOutcome
) -> None:
    first = decide(DEFINITION, record, running, outcome, NOW)

    assert decide(DEFINITION, record, running, outcome, NOW) == first


def runs_until_the_end(outcome: StepOutcome, running: ExecutionRecord) -> int:
    """How often a step is run that always comes to the same outcome."""
    runs = 1
    while True:
        change = decide(DEFINITION, workflow(), running, outcome, NOW)
        if change.workflow.state is not WorkflowState.READY:
            return runs
        [new] = change.schedule
        running = execution(failures=new.failures, recoveries=new.recoveries)
        runs += 1


@given(st.integers(0, 20), policies)
def test_n_reattempts_are_n_and_one_runs(limit: int, policy: str) -> None:
    outcome = Raised(ERROR, reattempting(limit, policy=policy))

    assert runs_until_the_end(outcome, execution()) == limit + 1


@given(st.integers(0, 20))
def test_n_recoveries_are_n_and_one_runs(limit: int) -> None:
    assert runs_until_the_end(Lost("Worker w was lost.", limit), execution()) == limit + 1
