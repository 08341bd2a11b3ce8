"""Eight clients command the same running workflows at random.

The ledger is what each client was answered, what the bodies noted in files, and the effects of the
transactional step.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import Any

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError
from tests.scenarios.conftest import StartProcess
from tests.scenarios.crew import BATCH, Crew
from tests.scenarios.processes import wait_until
from tests.soak.laps import Laps
from tests.soak.storm_ledger import Answer, assert_the_storm_is_on_record

ROUNDS = 5
CLIENTS = 8
COMMANDS = 50  # of each client in a round
DWELL = 0.05  # seconds: commands meet running steps
CHOICES = ("pause", "pause", "resume", "resume", "resume", "skip", "cancel", "force")


def test_storm(
    geneva: gd.Drive, laps: Laps, load: ModuleType, start: StartProcess, chance: random.Random
) -> None:
    for notes in laps:
        crew = Crew(geneva, load, start=start, notes=notes, chance=chance, dwell=DWELL)
        answers: list[Answer] = []
        for _ in range(ROUNDS):
            with crew.under_load():
                answers += _storm(geneva, chance)
        answers += _resume_all(geneva)

        assert crew.stop() == [0, 0]
        assert_the_storm_is_on_record(geneva, notes, answers, load.STEPS, ROUNDS * BATCH)
        accepted = sum(answer.is_accepted for answer in answers)
        laps.count(workflows=ROUNDS * BATCH, commands=len(answers), accepted=accepted)


def _storm(drive: gd.Drive, chance: random.Random) -> list[Answer]:
    seeds = [chance.random() for _ in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        return [one for answers in clients.map(partial(_client, drive), seeds) for one in answers]


def _client(drive: gd.Drive, seed: float) -> list[Answer]:
    chance = random.Random(seed)
    answers = []
    for number in range(COMMANDS):
        ongoing = gd.Workflow.using(drive).ongoing().limit(BATCH).all()
        if ongoing:
            actor = f"client {seed} command {number}"
            answers.append(_give(chance.choice(ongoing), chance.choice(CHOICES), actor))
    return answers


def _give(workflow: gd.WorkflowHandle[Any], choice: str, actor: str) -> Answer:
    is_forced = choice == "force"
    command = "cancel" if is_forced else choice
    options = {"force": True} if is_forced else {}
    try:
        getattr(workflow, command)(actor=actor, **options)
        is_accepted = True
    except InvalidStateError:
        is_accepted = False
    return Answer(
        workflow_id=workflow.id,
        command=command,
        actor=actor,
        is_accepted=is_accepted,
        is_forced=is_forced,
    )


def _resume_all(drive: gd.Drive) -> list[Answer]:
    """Resume what is paused until every workflow has ended."""
    workflows = gd.Workflow.using(drive)
    answers: list[Answer] = []

    def is_over() -> bool:
        answers.extend(_give(one, "resume", f"end {one.id}") for one in workflows.paused().all())
        return not workflows.ongoing().count()

    wait_until(is_over, "all workflows have ended")
    return answers
