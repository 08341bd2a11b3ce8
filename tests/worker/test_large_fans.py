"""A workflow with very many executions due keeps no other of its lane waiting for all of them."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.dynamic.jobs import Job
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.claims.fairness import find_behind
from geneva_drive.worker.identity import Identity

NODES = 500
# Of a fan a worker may have claimed some hundreds at once, in the belief that nobody else waits.
MOST_BEFORE = 350


@pytest.fixture
def ran() -> list[str]:
    return []


@pytest.fixture
def note(geneva: gd.Drive, ran: list[str]) -> Job[..., None]:
    @gd.job(name="large_fans.note")
    def note(name: str) -> None:
        ran.append(name)

    return note


def fan(name: str, note: Job[..., None], nodes: int = NODES) -> None:
    built = gd.DynamicWorkflow()
    built.fan_out(range(nodes), name="node_{}", job=note, args=lambda _: {"name": name})
    built.start()


def single(name: str, note: Job[..., None], priority: int | None = None) -> None:
    built = gd.DynamicWorkflow(priority=priority)
    built.node("only", job=note, args={"name": name})
    built.start()


def test_a_workflow_that_comes_after_a_large_fan_is_not_kept_until_its_end(
    geneva: gd.Drive, note: Job[..., None], ran: list[str]
) -> None:
    fan("many", note)
    single("late", note)

    geneva.worker(concurrency=2).run_until_idle()

    assert len(ran) == NODES + 1
    assert ran.index("late") < MOST_BEFORE


def test_behind_two_large_fans_both_the_second_and_whoever_came_last_get_turns(
    geneva: gd.Drive, note: Job[..., None], ran: list[str]
) -> None:
    fan("first", note)
    fan("second", note)
    single("late", note)

    geneva.worker(concurrency=2).run_until_idle()

    assert len(ran) == 2 * NODES + 1
    assert ran.index("second") < MOST_BEFORE
    assert ran.index("late") < NODES + MOST_BEFORE


def test_whoever_is_less_urgent_waits_for_all_of_a_large_fan(
    geneva: gd.Drive, note: Job[..., None], ran: list[str]
) -> None:
    fan("many", note, nodes=200)  # others get turns from the sixteenth on
    single("calm", note, priority=-1)

    geneva.worker(concurrency=1).run_until_idle()

    assert ran == ["many"] * 200 + ["calm"]


def test_what_is_more_urgent_goes_before_whoever_waits_behind_a_large_fan(
    geneva: gd.Drive, note: Job[..., None]
) -> None:
    identity = Identity()
    fan("many", note)
    single("late", note)
    [crowding] = claim_due(geneva.environment, identity, 1)
    assert find_behind(geneva.environment, identity, crowding) is not None

    single("urgent", note, priority=10)

    assert find_behind(geneva.environment, identity, crowding) is None
