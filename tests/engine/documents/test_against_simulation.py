"""The engine takes the same way through a document as a simulation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.declarative import validator
from geneva_drive.declarative.simulation.case import Case, SimulatedDecision
from geneva_drive.declarative.simulation.simulation import simulate
from geneva_drive.declarative.simulation.trace import Trace
from geneva_drive.declarative.steps import ActionStep, ApprovalStep
from geneva_drive.errors import StepConfigurationError
from geneva_drive.testing import drain
from tests.engine.documents.generating import contexts, documents

Handle = gd.WorkflowHandle[Any]
_MOST_ROUNDS = 60

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True, scope="session")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(document=documents(), context=contexts, data=st.data())
def test_the_engine_and_a_simulation_agree(
    document: dict[str, Any], context: dict[str, Any], data: st.DataObject, geneva: gd.Drive
) -> None:
    try:
        parsed = validator.parse(document)
    except StepConfigurationError:
        assume(False)  # a step that nothing leads to, say
    asked = [
        step.id
        for step in parsed.all_steps()
        if isinstance(step, ApprovalStep) or (isinstance(step, ActionStep) and step.requires)
    ]
    decisions = {
        name: data.draw(
            st.sampled_from([SimulatedDecision.APPROVE, SimulatedDecision.REJECT]), label=name
        )
        for name in asked
    }
    expected = simulate(parsed, Case(context=context, decisions=decisions))
    geneva.store.write(geneva.store.empty)
    geneva.definitions.deploy(document)

    workflow = geneva.start("drawn", context=context)
    _run(geneva, decisions)

    workflow.reload()
    assert _steps(geneva, workflow) == sorted(visit.step_id for visit in expected.visits)
    assert _end(workflow) == _expected_end(expected)
    assert workflow.context == expected.context


def _run(drive: gd.Drive, decisions: dict[str, SimulatedDecision]) -> None:
    """Run what is due and decide what is asked, until nothing is left."""
    for _ in range(_MOST_ROUNDS):
        drain(drive)
        pending = list(drive.approvals.pending())
        if not pending:
            return
        for request in pending:
            if decisions[request.step_name] is SimulatedDecision.APPROVE:
                request.approve(by="ann")
            else:
                request.reject(by="ann")
    raise AssertionError("The workflow does not come to an end.")


def _steps(drive: gd.Drive, workflow: Handle) -> list[str]:
    """Every step that was reached, in branches too."""
    names = [one.step_name for one in workflow.step_executions]
    for child in workflow.children:
        names += _steps(drive, child)
    return sorted(names)


def _end(workflow: Handle) -> tuple[str, Any, str | None]:
    return workflow.state, workflow.result, workflow.result_reason


def _expected_end(trace: Trace) -> tuple[str, Any, str | None]:
    if trace.result is None:
        return "paused", None, None
    return "finished", str(trace.result), trace.reason
