"""Two processes want the same: one gets it, and the other is told."""

from __future__ import annotations

from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, effects_of
from tests.scenarios.processes import Process

pytestmark = pytest.mark.scenario

ROUNDS = 25


@pytest.fixture
def racers(start: StartProcess) -> tuple[Process, Process]:
    both = start("obey"), start("obey")
    for racer in both:
        racer.expect("ready")
    return both


def _race(racers: tuple[Process, Process], line: str) -> list[str]:
    for racer in racers:
        racer.tell(line)
    return sorted(racer.answer() for racer in racers)


def test_two_processes_race_for_one_execution(
    geneva: gd.Drive, racers: tuple[Process, Process], app: ModuleType
) -> None:
    workflows = [app.Single.create() for _ in range(ROUNDS)]
    executions = [w.step_executions[0].id for w in workflows]

    answers = [_race(racers, f"perform {workflow.id}") for workflow in workflows]

    assert answers == [["nothing", f"performed {execution}"] for execution in executions]
    assert effects_of(geneva) == {(workflow.id, "work"): 1 for workflow in workflows}


def test_two_processes_create_for_one_hero(
    geneva: gd.Drive, racers: tuple[Process, Process], app: ModuleType
) -> None:
    answers = [_race(racers, f"create hero-{number}") for number in range(ROUNDS)]

    winners = [workflow.id for workflow in app.Single.ongoing()]
    assert answers == [[f"created {winner}", f"refused {winner}"] for winner in winners]


def test_two_processes_resume_one_workflow(
    geneva: gd.Drive, racers: tuple[Process, Process], app: ModuleType
) -> None:
    workflows = [app.Single.create().pause() for _ in range(ROUNDS)]

    answers = [_race(racers, f"resume {workflow.id}") for workflow in workflows]

    assert answers == [
        ["refused Cannot resume a ready workflow.", f"resumed {workflow.id}"]
        for workflow in workflows
    ]
    assert [[entry.command for entry in workflow.audit_entries] for workflow in workflows] == [
        ["pause", "resume"]
    ] * ROUNDS
