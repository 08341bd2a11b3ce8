"""What each command does in each state: the whole table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.storage.statements.attempts import Attempts
from geneva_drive.testing import perform_next_step, speedrun

Handle = gd.WorkflowHandle[Any]
Command = Callable[[Handle], Handle]

COMMANDS: dict[str, Command] = {
    "pause": lambda workflow: workflow.pause(),
    "resume": lambda workflow: workflow.resume(),
    "resume_at": lambda workflow: workflow.resume_at("ship"),
    "cancel": lambda workflow: workflow.cancel(),
    "cancel by force": lambda workflow: workflow.cancel(force=True),
    "skip": lambda workflow: workflow.skip(),
}

ALLOWED = [
    ("ready", "pause", "paused"),
    ("ready", "resume_at", "ready"),
    ("ready", "cancel", "canceled"),
    ("ready", "cancel by force", "canceled"),
    ("ready", "skip", "ready"),
    ("performing", "pause", "performing, pause requested"),
    ("performing", "cancel", "performing, cancel requested"),
    ("performing", "cancel by force", "canceled"),
    ("performing, pause requested", "pause", "performing, pause requested"),
    ("performing, pause requested", "resume", "performing"),
    ("performing, pause requested", "cancel", "performing, cancel requested"),
    ("performing, pause requested", "cancel by force", "canceled"),
    ("performing, cancel requested", "pause", "performing, cancel requested"),
    ("performing, cancel requested", "cancel", "performing, cancel requested"),
    ("performing, cancel requested", "cancel by force", "canceled"),
    ("paused", "resume", "ready"),
    ("paused", "resume_at", "ready"),
    ("paused", "cancel", "canceled"),
    ("paused", "cancel by force", "canceled"),
    ("paused", "skip", "ready"),
    ("paused by a failure", "resume", "ready"),
    ("paused by a failure", "resume_at", "ready"),
    ("paused by a failure", "cancel", "canceled"),
    ("paused by a failure", "cancel by force", "canceled"),
    ("paused by a failure", "skip", "ready"),
]

NOT_TORN = (
    " A running step is not interrupted: pause the workflow, and try again once the step has "
    "stopped."
)
LATER = " Pause it, and choose the step when the running one has ended."

REFUSED = [
    ("ready", "resume", "Cannot resume a ready workflow."),
    ("performing", "resume", "Cannot resume a performing workflow."),
    ("performing", "resume_at", "Cannot resume a performing workflow." + LATER),
    ("performing", "skip", "Cannot skip a step of a performing workflow." + NOT_TORN),
    ("performing, pause requested", "resume_at", "Cannot resume a performing workflow." + LATER),
    (
        "performing, pause requested",
        "skip",
        "Cannot skip a step of a performing workflow." + NOT_TORN,
    ),
    ("performing, cancel requested", "resume", "Cannot resume a performing workflow."),
    ("performing, cancel requested", "resume_at", "Cannot resume a performing workflow." + LATER),
    (
        "performing, cancel requested",
        "skip",
        "Cannot skip a step of a performing workflow." + NOT_TORN,
    ),
    ("paused", "pause", "Cannot pause a paused workflow."),
    ("paused by a failure", "pause", "Cannot pause a paused workflow."),
    ("finished", "pause", "Cannot pause a finished workflow."),
    ("finished", "resume", "Cannot resume a finished workflow."),
    ("finished", "resume_at", "Cannot resume a finished workflow."),
    ("finished", "cancel", "Cannot cancel a finished workflow."),
    ("finished", "cancel by force", "Cannot cancel a finished workflow."),
    ("finished", "skip", "Cannot skip a step of a finished workflow."),
    ("canceled", "pause", "Cannot pause a canceled workflow."),
    ("canceled", "resume", "Cannot resume a canceled workflow."),
    ("canceled", "resume_at", "Cannot resume a canceled workflow."),
    ("canceled", "cancel", "Cannot cancel a canceled workflow."),
    ("canceled", "cancel by force", "Cannot cancel a canceled workflow."),
    ("canceled", "skip", "Cannot skip a step of a canceled workflow."),
]


class Delivery(gd.Workflow[Any]):
    """Does at its first step what the test has put into `acts`."""

    type_name = "test_commands.Delivery"
    acts: list[Callable[[Handle], object]]

    @gd.step
    def pack(self) -> None:
        if self.acts:
            self.acts.pop()(self.handle)

    @gd.step
    def ship(self) -> None: ...


def in_state(state: str, act: Callable[[Handle], object]) -> Handle:
    """Bring a workflow into a state, and do something to it there."""

    def fail(workflow: Handle) -> None:
        raise ValueError("torn")

    def while_it_runs(workflow: Handle) -> None:
        if "pause" in state:
            workflow.pause()
        if "cancel" in state:
            workflow.cancel()
        act(gd.Workflow.find(workflow.id))

    Delivery.acts = []
    workflow = Delivery.create()
    match state:
        case "paused":
            workflow.pause()
        case "paused by a failure":
            Delivery.acts.append(fail)
            perform_next_step(workflow)
        case "finished":
            speedrun(workflow)
        case "canceled":
            workflow.cancel()
        case "ready":
            pass
        case _:
            Delivery.acts.append(while_it_runs)
            perform_next_step(workflow)
            return workflow
    act(workflow.reload())
    return workflow


def described(workflow: Handle) -> str:
    asked = f", {workflow.requested} requested" if workflow.requested else ""
    return f"{workflow.state}{asked}"


def test_the_table_is_whole() -> None:
    states = {state for state, _, _ in ALLOWED + REFUSED}

    assert len(states) == 8
    assert {(s, c) for s, c, _ in ALLOWED + REFUSED} == {(s, c) for s in states for c in COMMANDS}


@pytest.mark.parametrize(
    ("state", "command", "result"), ALLOWED, ids=[f"{s}: {c}" for s, c, _ in ALLOWED]
)
def test_a_command_in_a_state_that_allows_it(
    geneva: gd.Drive, state: str, command: str, result: str
) -> None:
    seen: list[str] = []

    def act(workflow: Handle) -> None:
        seen.append(described(COMMANDS[command](workflow)))

    workflow = in_state(state, act)

    assert seen == [result]
    assert workflow.audit_entries[-1].command == command.split()[0]


@pytest.mark.parametrize(
    ("state", "command", "message"), REFUSED, ids=[f"{s}: {c}" for s, c, _ in REFUSED]
)
def test_a_command_in_a_state_that_does_not_allow_it_is_refused_and_changes_nothing(
    geneva: gd.Drive, state: str, command: str, message: str
) -> None:
    seen: list[Any] = []

    def act(workflow: Handle) -> None:
        before = described(workflow), len(workflow.audit_entries)
        with pytest.raises(gd.errors.InvalidStateError) as refusal:
            COMMANDS[command](workflow)
        after = described(workflow.reload()), len(workflow.audit_entries)
        seen.append((str(refusal.value), before == after))

    in_state(state, act)

    assert seen == [(message, True)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_on_a_workflow_that_was_deleted_finds_nothing(
    geneva: gd.Drive, command: str
) -> None:
    workflow = Delivery.create().cancel()
    geneva.prune(older_than=0)

    with pytest.raises(gd.errors.NotFound) as refusal:
        COMMANDS[command](workflow)

    assert str(refusal.value) == (
        f"There is no workflow with id {workflow.id}. `geneva list` shows all workflows."
    )


def test_a_command_with_a_stale_handle_looks_at_the_state_as_it_is(geneva: gd.Drive) -> None:
    workflow = Delivery.create()
    stale = gd.Workflow.find(workflow.id)
    workflow.cancel()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        stale.pause()

    assert str(refusal.value) == "Cannot pause a canceled workflow."


def test_every_command_returns_the_handle_itself_reloaded(geneva: gd.Drive) -> None:
    workflow = Delivery.create()

    assert workflow.pause() is workflow
    assert workflow.state == "paused"


@pytest.mark.parametrize("state", ["finished", "canceled"])
def test_a_step_of_an_ended_workflow_is_not_reattempted(geneva: gd.Drive, state: str) -> None:
    ended = in_state(state, lambda workflow: None)

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        ended.reattempt("pack")

    assert str(refusal.value) == f"Cannot reattempt a step of a {state} workflow."


def test_a_step_before_one_that_is_done_is_not_reattempted(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None:
            raise ValueError("declined")

        @gd.step
        def pack(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    workflow = Order.create()
    perform_next_step(workflow)
    workflow.resume_at("pack")
    perform_next_step(workflow)

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.reload().reattempt("charge")

    assert str(refusal.value) == (
        "Cannot reattempt step 'charge': step 'pack' after it is completed already. To go back "
        "anyway, use `resume_at` in code or `geneva resume ID --at STEP` in the shell."
    )


class CountedHints(Hints):
    """Hints that count how often workers of other processes are woken."""

    sent = 0

    def send(self) -> None:
        self.sent += 1


@pytest.mark.parametrize("command", ["pause", "skip", "resume_at", "cancel"])
def test_a_command_wakes_the_workers_once(geneva: gd.Drive, command: str) -> None:
    workflow = Delivery.create()
    geneva.environment.wakeups.hints = hints = CountedHints()

    COMMANDS[command](workflow)

    assert hints.sent == 1


@pytest.mark.parametrize("command", ["pause", "cancel", "cancel by force"])
def test_a_command_that_needs_no_attempts_reads_none(
    geneva: gd.Drive, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = Delivery.create()
    read: list[Any] = []
    monkeypatch.setattr(Attempts, "latest_of", lambda *arguments: read.append(arguments))

    COMMANDS[command](workflow)

    assert read == []
