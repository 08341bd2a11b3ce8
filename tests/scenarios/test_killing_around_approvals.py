"""Processes die around a decision: it is taken once, kept, and its workflow goes on."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.approval_ledger import assert_consistent
from tests.scenarios.conftest import StartProcess, effects_of, recovered, wait_until_finished
from tests.scenarios.processes import GENEVA, wait_until

pytestmark = pytest.mark.scenario

APP = "tests.scenarios.approvals"


def test_a_decision_whose_process_and_worker_are_killed_takes_effect_once(
    geneva: gd.Drive, approvals: ModuleType, start: StartProcess, tmp_path: Path
) -> None:
    release = tmp_path / "release"
    refund = approvals.Refund.create(context={"release": str(release)})
    first = start("worker", "--app", APP, program=GENEVA)
    wait_until(geneva.approvals.pending().count, "the approval is asked for")
    [request] = geneva.approvals.pending()
    ann = start("ann", program=APP)
    ann.expect("ready")

    ann.tell(f"die-approving:{request.id}")
    assert ann.wait() == -9  # after the commit, before any worker is told
    wait_until(release.with_suffix(".begun").exists, "the body has begun")
    first.kill()
    assert_consistent(geneva)
    start("worker", "--app", APP, program=GENEVA)
    wait_until_finished(geneva, 1)

    [found] = geneva.approvals.of_workflow(refund.id)
    assert (found.state, found.decided_by, found.id) == ("approved", "ann", request.id)
    assert [entry.command for entry in found.history] == ["approve"]
    attempts = [(one.step_name, one.outcome) for one in refund.step_executions]
    assert attempts == [("clerk", "recovered"), ("clerk", "approved"), ("pay", "success")]
    assert recovered(geneva) == 1
    assert effects_of(geneva) == {(refund.id, "clerk"): 1}
    assert_consistent(geneva)
