"""The engine takes the same way through a document as a simulation."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.declarative import validator
from geneva_drive.declarative.document import Document
from geneva_drive.declarative.simulation.case import Case, SimulatedDecision, SimulatedEvent
from geneva_drive.declarative.simulation.simulation import possible_decisions, simulate
from geneva_drive.declarative.simulation.trace import Trace, TraceState
from geneva_drive.errors import StepConfigurationError
from geneva_drive.testing import drain, time_travel
from tests.declarative.documents import allow, block, written
from tests.engine.documents.generating import HELPERS, contexts, documents, events

Handle = gd.WorkflowHandle[Any]
Decisions = dict[str, SimulatedDecision]
_MOST_ROUNDS = 60
_LONGER_THAN_ANY_TIMEOUT = timedelta(hours=2)

pytestmark = pytest.mark.databases("sqlite")


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(document=documents(), context=contexts, published=events, data=st.data())
def test_the_engine_and_a_simulation_agree(
    document: dict[str, Any],
    context: dict[str, Any],
    published: list[tuple[str, str, Any]],
    data: st.DataObject,
    geneva: gd.Drive,
) -> None:
    try:
        parsed = validator.parse(document)
    except StepConfigurationError:
        assume(False)  # a step that nothing leads to, say
    decisions = _drawn_decisions(data, parsed)
    heard = [SimulatedEvent(kind, payload, key) for kind, key, payload in published]
    expected = simulate(parsed, Case(context=context, decisions=decisions, events=heard))
    geneva.store.write(geneva.store.empty)
    geneva.definitions.deploy(document)
    for name, step in zip(HELPERS, (allow(), block()), strict=True):
        geneva.definitions.deploy(written(step, workflow_id=name))
    for kind, key, payload in published:
        geneva.publish(kind, payload, key=key)

    workflow = geneva.start("drawn", context=context)
    _run(geneva, workflow, decisions)

    workflow.reload()
    assert _steps(workflow) == sorted(visit.step_id for visit in expected.visits)
    assert _end(workflow) == _expected_end(expected)
    if expected.state is not TraceState.WAITING:
        assert workflow.context == expected.context


def _drawn_decisions(data: st.DataObject, parsed: Document) -> Decisions:
    """Decide every approval; a wait with a timeout expires, unless an event comes before."""
    decisions: Decisions = {}
    for step in parsed.all_steps():
        known = [one for one in possible_decisions(step) if one is not SimulatedDecision.FAIL]
        if known:
            decisions[step.id] = data.draw(st.sampled_from(known), label=step.id)
    return decisions


def _run(drive: gd.Drive, workflow: Handle, decisions: Decisions) -> None:
    """Run what is due and decide what is asked, until even time brings nothing new."""
    passed, standing = timedelta(), list[Any]()
    for _ in range(_MOST_ROUNDS):
        before = _states(workflow)
        with time_travel(passed, drive):
            if passed:
                drive.housekeep()  # what has expired
            drain(drive)
            asked = [one for one in drive.approvals.pending() if _decide(one, decisions)]
        if workflow.reload().state == "finished":
            return
        if not asked and _states(workflow) == before:
            if passed and before == standing:
                return
            passed, standing = passed + _LONGER_THAN_ANY_TIMEOUT, before
    raise AssertionError("The workflow does not come to an end.")


def _decide(approval: gd.Approval, decisions: Decisions) -> bool:
    """Decide a request; False for one that is left to expire."""
    match decisions[approval.step_name]:
        case SimulatedDecision.APPROVE:
            approval.approve(by="ann")
        case SimulatedDecision.REJECT:
            approval.reject(by="ann")
        case _:
            return False
    return True


def _branches(workflow: Handle) -> list[Handle]:
    return [child for child in workflow.children if str(child.type).startswith("drawn/")]


def _states(workflow: Handle) -> list[Any]:
    own = [(one.step_name, one.state) for one in workflow.step_executions]
    return [*own, *map(_states, workflow.children)]


def _steps(workflow: Handle) -> list[str]:
    """Every step that was reached, in branches too."""
    names = [one.step_name for one in workflow.step_executions]
    for branch in _branches(workflow):
        names += _steps(branch)
    return sorted(names)


def _end(workflow: Handle) -> tuple[str, Any, str | None]:
    return workflow.state, workflow.result, workflow.result_reason


def _expected_end(trace: Trace) -> tuple[str, Any, str | None]:
    if trace.result is None:
        return "paused", None, None
    return "finished", str(trace.result), trace.reason
