"""Twenty processes give the same command at the same moment: one is obeyed, the others refused.

The ledger is what the twenty processes answered, and the effects of the step that they race for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, effects_of
from tests.scenarios.processes import Process
from tests.soak.laps import Laps

RACERS = 20
ROUNDS = 5  # of each race in a lap

Handle = gd.WorkflowHandle[Any]


def test_races(geneva: gd.Drive, laps: Laps, app: ModuleType, start: StartProcess) -> None:
    with _racers(start) as racers:
        for _ in laps:
            for number in range(ROUNDS):
                _create_for_one_hero(racers, app, f"hero-{number}")
                _create_with_one_key(racers, geneva, app, f"key-{number}")
                _perform_one(racers, geneva, app.Single.create())
                _pause(racers, app.Single.create())
                _resume(racers, app.Single.create().pause())
                _cancel(racers, app.Single.create())
                _skip(racers, app.Single.create())
                laps.count(races=7, commands=7 * RACERS)


@contextmanager
def _racers(start: StartProcess) -> Iterator[list[Process]]:
    racers = [start("obey") for _ in range(RACERS)]
    for racer in racers:
        racer.expect("ready")
    yield racers


def _race(racers: list[Process], line: str) -> Counter[str]:
    for racer in racers:
        racer.tell(line)
    return Counter(racer.answer() for racer in racers)


def _create_for_one_hero(racers: list[Process], app: ModuleType, hero_id: str) -> None:
    answers = _race(racers, f"create {hero_id}")

    [winner] = app.Single.for_hero(gd.HeroRef("Visitor", hero_id)).all()
    assert answers == {f"created {winner.id}": 1, f"refused {winner.id}": RACERS - 1}
    assert len(winner.step_executions) == 1


def _create_with_one_key(racers: list[Process], drive: gd.Drive, app: ModuleType, key: str) -> None:
    before = app.Single.using(drive).query().count()

    answers = _race(racers, f"create-once {key}")

    assert app.Single.using(drive).query().count() == before + 1
    [answer] = answers
    winner = app.Single.find(answer.removeprefix("created "))
    assert answers == {f"created {winner.id}": RACERS}
    assert len(winner.step_executions) == 1


def _perform_one(racers: list[Process], drive: gd.Drive, workflow: Handle) -> None:
    answers = _race(racers, f"perform {workflow.id}")

    [execution] = workflow.step_executions
    assert answers == {f"performed {execution.id}": 1, "nothing": RACERS - 1}
    assert (execution.state, execution.outcome) == ("completed", "success")
    assert effects_of(drive)[workflow.id, "work"] == 1


def _pause(racers: list[Process], workflow: Handle) -> None:
    assert _race(racers, f"pause {workflow.id}") == {
        f"paused {workflow.id}": 1,
        "refused Cannot pause a paused workflow.": RACERS - 1,
    }
    assert _left(workflow) == ("paused", ["pause"], [("scheduled", None)])


def _resume(racers: list[Process], workflow: Handle) -> None:
    assert _race(racers, f"resume {workflow.id}") == {
        f"resumed {workflow.id}": 1,
        "refused Cannot resume a ready workflow.": RACERS - 1,
    }
    assert _left(workflow) == ("ready", ["pause", "resume"], [("scheduled", None)])


def _cancel(racers: list[Process], workflow: Handle) -> None:
    assert _race(racers, f"cancel {workflow.id}") == {
        f"canceled {workflow.id}": 1,
        "refused Cannot cancel a canceled workflow.": RACERS - 1,
    }
    assert _left(workflow) == ("canceled", ["cancel"], [("canceled", "canceled_by_operator")])


def _skip(racers: list[Process], workflow: Handle) -> None:
    assert _race(racers, f"skip {workflow.id}") == {
        f"skipped {workflow.id}": 1,
        "refused Cannot skip a step of a finished workflow.": RACERS - 1,
    }
    assert _left(workflow) == ("finished", ["skip"], [("skipped", "skipped_by_operator")])


def _left(workflow: Handle) -> tuple[str, list[str], list[Any]]:
    """Return the workflow's state, the commands on record, and its executions."""
    commands = [entry.command for entry in workflow.audit_entries]
    executions = [(e.state, e.outcome) for e in workflow.step_executions]
    return workflow.reload().state, commands, executions
