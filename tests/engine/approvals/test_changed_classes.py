"""Workflows that wait for a person while their class changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, asked, reach, requests_of
from tests.deploys import former_code
from tests.looking import error_of, history, last

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


@dataclass
class Amount:
    euros: int


@pytest.fixture
def waiting(geneva: gd.Drive) -> Handle:
    """A workflow that waits at `manager`, of a class that is then taken out of the process."""
    with former_code():

        class Former(gd.Workflow):
            type_name = "Refund"

            @gd.approval(role="manager")
            def manager(self, decision: Decision) -> None: ...

            @gd.step
            def pay(self) -> None: ...

        return reach(geneva, Former)


def test_an_approval_that_was_renamed_keeps_its_request(geneva: gd.Drive, waiting: Handle) -> None:
    class Refund(gd.Workflow):
        type_name = "Refund"

        @gd.approval(role="boss", renamed_from="manager")
        def boss(self, decision: Decision) -> None:
            seen.append(decision.by)

        @gd.step
        def pay(self) -> None:
            decision: Any = self.result_of(Refund.boss)
            seen.append(decision.by)

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert waiting.reload().state == "finished"
    assert seen == ["ann", "ann"]
    assert requests_of(waiting) == [("manager", "approved")]
    assert waiting.result_of("boss").by == "ann"


def test_an_approval_that_was_removed_is_skipped_once_it_is_decided(
    geneva: gd.Drive, waiting: Handle
) -> None:
    class Refund(gd.Workflow):
        type_name = "Refund"

        manager = gd.removed_step()

        @gd.step
        def pay(self) -> None:
            seen.append("pay")

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (waiting.reload().state, seen) == ("finished", ["pay"])
    assert history(waiting)[0] == ("manager", "skipped", "skipped_by_removal")


def test_an_approval_that_became_a_step_runs_without_a_decision(
    geneva: gd.Drive, waiting: Handle
) -> None:
    class Refund(gd.Workflow):
        type_name = "Refund"

        @gd.step
        def manager(self) -> None:
            seen.append("manager")

        @gd.step
        def pay(self) -> None:
            seen.append("pay")

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (waiting.reload().state, seen) == ("finished", ["manager", "pay"])


def test_a_changed_role_does_not_change_a_request_that_is_open(
    geneva: gd.Drive, waiting: Handle
) -> None:
    class Refund(gd.Workflow):
        type_name = "Refund"

        @gd.approval(role="director", quorum=3)
        def manager(self, decision: Decision) -> None: ...

        @gd.step
        def pay(self) -> None: ...

    asked(geneva).approve(by=gd.Actor("ann", roles=["manager"]))
    drain(geneva)

    assert waiting.reload().state == "finished"


def test_a_decision_whose_data_does_not_fit_the_changed_form_fails_the_step(
    geneva: gd.Drive, waiting: Handle
) -> None:
    class Refund(gd.Workflow):
        type_name = "Refund"

        @gd.approval(role="manager", form=Amount)
        def manager(self, decision: Decision) -> None:
            seen.append(decision.data)

        @gd.step
        def pay(self) -> None: ...

    asked(geneva).approve(by="ann", data={"sum": 5})
    drain(geneva)

    assert (waiting.reload().state, seen) == ("paused", [])
    assert error_of(last(waiting)) == (
        "geneva_drive.errors.InvalidForm",
        "The data of approval 'manager' does not fit Amount: euros: Field required.",
    )


def test_a_process_without_the_class_can_decide_what_has_no_form(
    geneva: gd.Drive, waiting: Handle
) -> None:
    request = asked(geneva).approve(by="ann", data={"sum": 5})

    assert (request.state, request.data) == ("approved", {"sum": 5})
    assert waiting.reload().state == "ready"


def test_a_process_without_the_class_cannot_decide_what_has_a_form(geneva: gd.Drive) -> None:
    with former_code():

        class Refund(gd.Workflow):
            @gd.approval(role="manager", form=Amount)
            def manager(self, decision: Decision) -> None: ...

        reach(geneva, Refund)
    with pytest.raises(gd.errors.UnknownWorkflowClass) as refused:
        asked(geneva).approve(by="ann", data={"euros": 5})

    assert str(refused.value) == (
        "No workflow class of type 'Refund' is imported in this process. Import its module first, "
        "or name it with --app or GENEVA_APP."
    )
    assert asked(geneva).reject(by="ann").state == "rejected"
