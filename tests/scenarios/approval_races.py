"""Races for approvals: many people do what only one can, and all are told.

The ledger is what the people were told, the tables, and the effects of the bodies.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from types import ModuleType
from typing import Any

import geneva_drive as gd
from geneva_drive.states import ENDED_WORKFLOW_STATES
from tests.approval_ledger import assert_consistent
from tests.scenarios.conftest import StartProcess, effects_of
from tests.scenarios.processes import GENEVA, wait_until

APP = "tests.scenarios.approvals"
RACERS = 20

Handle = gd.WorkflowHandle[Any]


class Course:
    """Twenty people in several processes, and two workers that run what they decide."""

    def __init__(
        self, drive: gd.Drive, app: ModuleType, start: StartProcess, *, processes: int
    ) -> None:
        self._threads = RACERS // processes  # in each process
        self._drive = drive
        self._app = app
        self._racers = [
            start(*(f"p{number}-{one}" for one in range(self._threads)), program=APP)
            for number in range(processes)
        ]
        self._workers = [start("worker", "--app", APP, program=GENEVA) for _ in range(2)]
        for racer in self._racers:
            racer.expect("ready")

    def refund(self, **context: Any) -> tuple[Handle, gd.Approval]:
        """Start a workflow, and wait until its approval is asked for."""
        workflow = self._app.Refund.create(context=context)
        pending = self._drive.approvals.pending
        found: list[gd.Approval] = []

        def is_asked() -> bool:
            found[:] = [one for one in pending() if one.workflow_id == workflow.id]
            return bool(found)

        wait_until(is_asked, "the approval is asked for")
        return workflow, found[0]

    def contracts(self, count: int) -> dict[Handle, list[gd.Approval]]:
        """Start workflows, and wait until both approvals of each are asked for."""
        started = [self._app.Contract.create() for _ in range(count)]
        wait_until(
            lambda: self._drive.approvals.pending().count() == 2 * count,
            "all approvals are asked for",
        )
        return {one: self.requests_of(one) for one in started}

    def requests_of(self, workflow: Handle) -> list[gd.Approval]:
        return self._drive.approvals.of_workflow(workflow.id).all()

    def race(self, acts: Sequence[str]) -> Counter[str]:
        """Let each racer do one of the acts, in turn; count what they did and what was refused."""
        people = itertools.cycle(acts)
        for racer in self._racers:
            racer.tell(" ".join(itertools.islice(people, self._threads)))
        return Counter(answer for racer in self._racers for answer in racer.answer().split())

    def end(self, workflow: Handle) -> None:
        state = workflow.reload
        wait_until(lambda: state().state in ENDED_WORKFLOW_STATES, "the workflow has ended")

    def stop(self) -> None:
        for racer in self._racers:
            racer.kill()
        assert [worker.terminate() for worker in self._workers] == [0, 0]


def run_all(course: Course) -> int:
    """Run each race once; return how many there are."""
    races = (
        _ask_for_two_at_once,
        _decide,
        _complete_a_quorum,
        _resume,
        _decide_or_cancel,
        _decide_or_pause,
        _decide_escalate_or_delegate,
        _decide_at_the_deadline,
    )
    for race in races:
        race(course)
    return len(races)


def assert_whole(drive: gd.Drive) -> None:
    """Raise an error unless each decision had its effect once, if its workflow went on."""
    ledger = assert_consistent(drive)
    refunds = [row for row in ledger.workflows if row["type"] == "Refund"]
    finished = {row["id"] for row in refunds if row["state"] == "finished"}
    decided = {row["workflow_id"] for row in ledger.approvals if row["state"] != "canceled"}
    effects = effects_of(drive)
    assert set(effects.values()) == {1}
    # A cancel may come between a decision and its body.
    assert finished <= {workflow_id for workflow_id, _ in effects} <= decided


def _ask_for_two_at_once(course: Course) -> None:
    contracts = course.contracts(5)

    course.race([f"approve:{request.id}" for pair in contracts.values() for request in pair])

    for contract in contracts:
        course.end(contract)
        requests = [(one.step_name, one.state) for one in course.requests_of(contract)]
        assert sorted(requests) == [("banker", "approved"), ("lawyer", "approved")]


def _decide(course: Course) -> None:
    workflow, request = course.refund()

    answers = course.race([f"approve:{request.id}", f"reject:{request.id}"])

    assert answers["done:approve"] + answers["done:reject"] == 1
    assert answers["refused:approve"] + answers["refused:reject"] == RACERS - 1
    course.end(workflow)
    [choice] = [one for one in ("approve", "reject") if answers[f"done:{one}"]]
    assert [entry.command for entry in request.history] == [choice]
    assert (request.reload().choice, workflow.state) == (choice, "finished")
    assert _resumptions(workflow) == [("approval", True)]


def _complete_a_quorum(course: Course) -> None:
    workflow, request = course.refund(quorum=3)

    answers = course.race([f"approve:{request.id}"])

    assert answers == {"done:approve": 3, "refused:approve": RACERS - 3}
    course.end(workflow)
    voters = [vote.by for vote in request.votes]
    assert len(voters) == 3
    assert request.reload().decided_by in voters
    assert sorted(entry.actor or "" for entry in request.history) == sorted(voters)
    assert _resumptions(workflow) == [("approval", True)]


def _resume(course: Course) -> None:
    workflow, request = course.refund()
    workflow.pause()
    request.approve(by="ann")
    assert _resumptions(workflow) == [("approval", False)]

    answers = course.race([f"resume:{workflow.id}"])

    assert answers == {"done:resume": 1, "refused:resume": RACERS - 1}
    course.end(workflow)
    assert workflow.state == "finished"
    assert _resumptions(workflow) == [("approval", True), ("manual", True)]


def _decide_or_cancel(course: Course) -> None:
    workflow, request = course.refund()

    answers = course.race([f"approve:{request.id}", f"cancel:{workflow.id}"])

    course.end(workflow)
    decided, canceled = answers["done:approve"], answers["done:cancel"]
    assert decided + canceled >= 1
    assert decided == (request.reload().state == "approved")
    assert decided or request.state == "canceled"
    # While a body runs, each cancel is a request, and the second one says the same.
    assert canceled or workflow.state == "finished"


def _decide_or_pause(course: Course) -> None:
    workflow, request = course.refund()

    answers = course.race([f"approve:{request.id}", f"pause:{workflow.id}"])

    assert answers["done:approve"] == 1
    if answers["done:pause"]:
        wait_until(lambda: workflow.reload().state in ("paused", "finished"), "it is held or over")
    if workflow.reload().state == "paused":
        workflow.resume()
    course.end(workflow)
    assert workflow.state == "finished"
    assert request.reload().state == "approved"


def _decide_escalate_or_delegate(course: Course) -> None:
    workflow, request = course.refund()

    acts = ("approve", "escalate", "approve", "delegate")
    answers = course.race([f"{act}:{request.id}" for act in acts])

    assert answers["done:approve"] == 1
    course.end(workflow)
    commands = Counter(entry.command for entry in request.history)
    assert {act: commands[act] for act in acts} == {act: answers[f"done:{act}"] for act in acts}
    assert list(request.history)[-1].command == "approve"


def _decide_at_the_deadline(course: Course) -> None:
    """Let every racer decide a request of its own, as its time ends in the workers."""
    asked = [course.refund(seconds=1) for _ in range(3)]
    workflow, request = asked[-1]
    assert request.expires_at is not None
    moment = request.expires_at - timedelta(milliseconds=3)

    answers = course.race([f"approve:{request.id}@{moment.isoformat()}"])

    for one, _ in asked:
        course.end(one)
    state = request.reload().state
    assert (state, answers["done:approve"]) in [("approved", 1), ("expired", 0)]
    trigger = "timeout" if state == "expired" else "approval"
    assert _resumptions(workflow) == [(trigger, True)]


def _resumptions(workflow: Handle) -> list[tuple[str, bool]]:
    return [(one.trigger, one.executed_at is not None) for one in workflow.resume_requests]
