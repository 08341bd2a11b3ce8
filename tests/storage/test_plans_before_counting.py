"""SQLite counts its tables only if it is told to, and finds rows by their keys all the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Returned, Skipped, StepOutcome
from geneva_drive.states import Outcome
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.storage.plans import noted, plan

READS_MANY = re.compile(r"SCAN geneva_drive|TEMP B-TREE|BLOOM|AUTOMATIC|workflows_state")
COUNTS = pytest.mark.parametrize("count", [1, 10, 100, 500])


pytestmark = pytest.mark.databases("sqlite")  # the others count by themselves


def end(drive: gd.Drive, count: int, outcome: StepOutcome) -> list[tuple[str, Any]]:
    """Let so many first steps end like that, and give the statements that look for rows."""

    class TwoSteps(gd.Workflow):
        @gd.step
        def begin(self) -> None: ...

        @gd.step
        def end(self) -> None: ...

    for _ in range(count):
        TwoSteps.create()
    environment, identity = drive.environment, Identity()
    claimed = claim_due(environment, identity, limit=count)
    endings = [one.ending(outcome) for one in claimed]
    with noted(drive.engine) as statements:
        ended = commit_endings(environment, endings)
    assert len([one for one in ended if one is not None]) == count
    return [each for each in statements if each[0].split()[0] in ("SELECT", "UPDATE")]


@COUNTS
def test_plain_completions_look_up_what_they_end(geneva: gd.Drive, count: int) -> None:
    looks = end(geneva, count, Returned(None))

    assert len(looks) > 3
    assert not [each for each in looks if READS_MANY.search(plan(geneva, *each))]


@COUNTS
def test_the_general_path_looks_up_what_it_moves(geneva: gd.Drive, count: int) -> None:
    looks = end(geneva, count, Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL))
    moves = [each for each in looks if each[0].startswith("UPDATE geneva_drive_workflows")]

    [found] = [plan(geneva, *each) for each in moves]

    assert "USING INTEGER PRIMARY KEY" in found


def test_a_child_that_has_ended_is_looked_for_among_those_awaited(geneva: gd.Drive) -> None:
    with noted(geneva.engine) as statements, geneva.store.reading() as connection:
        geneva.store.workflows.ended_and_awaited(connection, 10)

    found = plan(geneva, *statements[-1])

    assert "step_executions_child" in found or "step_executions_waiting (child_id" in found
    assert not READS_MANY.search(found.replace("SCAN geneva_drive_step_executions USING", ""))


def test_what_is_active_of_a_workflow_is_found_by_the_index_of_that(geneva: gd.Drive) -> None:
    with noted(geneva.engine) as statements, geneva.store.reading() as connection:
        geneva.store.executions.active_of(connection, [1])

    assert "step_executions_one_active" in plan(geneva, *statements[-1])
