"""Searching by state, with workflows that wait for a person among others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, asked

HOUR = timedelta(hours=1)


class Asking(gd.Workflow[Any]):
    type_name = "test_approval_queries.Asking"

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...


class Other(gd.Workflow[Any]):
    """Of another class, so that the pages of two are merged."""

    type_name = "test_approval_queries.Other"

    @gd.approval(role="clerk")
    def clerk(self, decision: Decision) -> None: ...


class Beside(gd.Workflow[Any]):
    """Waits for a person, and has something else to do later."""

    type_name = "test_approval_queries.Beside"

    @gd.approval(role="manager")
    def manager(self, decision: Decision) -> None: ...

    @gd.task(depends_on=[], wait=HOUR)
    def remind(self) -> None: ...


class Sleeper(gd.Workflow[Any]):
    type_name = "test_approval_queries.Sleeper"

    @gd.step(wait=HOUR)
    def wake(self) -> None: ...


class Parent(gd.Workflow[Any]):
    type_name = "test_approval_queries.Parent"

    sleeper = gd.child(Sleeper)


class Looking(gd.Workflow[Any]):
    """Searches while it runs."""

    type_name = "test_approval_queries.Looking"

    @gd.step
    def look(self) -> None:
        seen.append((found("ready"), found("performing"), found("paused")))


seen: list[Any] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


def found(state: str) -> list[Any]:
    return getattr(gd.Workflow, state)().ids()  # type: ignore[no-any-return]


@pytest.fixture
def crowd(geneva: gd.Drive) -> dict[str, Handle]:
    """A workflow in each of the situations that differ, created in this order."""
    crowd: dict[str, Handle] = {
        "first": Asking.create(),
        "sleeping": Sleeper.create(),
        "beside": Beside.create(),
        "held": Sleeper.create(),
        "other": Other.create(),
        "parent": Parent.create(),
        "held while waiting": Asking.create(),
        "decided": Asking.create(),
        "finished": Asking.create(),
        "last": Asking.create(),
    }
    drain(geneva)
    crowd["held"].pause()
    crowd["held while waiting"].pause()
    for name in ("finished", "decided"):
        [request] = geneva.approvals.of_workflow(crowd[name].id)
        request.approve(by="ann")
        if name == "finished":
            drain(geneva)
    crowd["child"] = crowd["parent"].children[0]
    return crowd


def names_of(crowd: dict[str, Handle], ids: list[Any]) -> list[str]:
    names = {workflow.id: name for name, workflow in crowd.items()}
    return [names[key] for key in ids]


PAUSED = ["first", "held", "other", "held while waiting", "last"]
READY = ["sleeping", "beside", "parent", "decided", "child"]


def test_workflows_are_found_by_the_state_that_they_read_as(
    geneva: gd.Drive, crowd: dict[str, Handle]
) -> None:
    assert names_of(crowd, gd.Workflow.paused().ids()) == PAUSED
    assert names_of(crowd, gd.Workflow.ready().ids()) == READY
    assert gd.Workflow.performing().ids() == []
    assert [one.state for one in gd.Workflow.paused()] == ["paused"] * 5
    assert [one.state for one in gd.Workflow.ready()] == ["ready"] * 5


def test_workflows_are_counted_by_the_state_that_they_read_as(
    geneva: gd.Drive, crowd: dict[str, Handle]
) -> None:
    counts = [
        query.count()
        for query in (
            gd.Workflow.paused(),
            gd.Workflow.ready(),
            gd.Workflow.performing(),
            gd.Workflow.ongoing(),
            Asking.paused(),
            Asking.ready(),
            Beside.paused(),
        )
    ]

    assert counts == [5, 5, 0, 10, 3, 1, 0]


def test_workflows_that_wait_are_read_page_by_page(
    geneva: gd.Drive, crowd: dict[str, Handle]
) -> None:
    paused = gd.Workflow.paused()

    assert names_of(crowd, paused.limit(2).ids()) == PAUSED[:2]
    assert names_of(crowd, paused.after(crowd["held"].id).ids()) == PAUSED[2:]
    assert names_of(crowd, paused.after(crowd["first"].id).limit(3).ids()) == PAUSED[1:4]
    assert names_of(crowd, paused.newest_first().ids()) == PAUSED[::-1]
    assert names_of(crowd, paused.newest_first().limit(2).ids()) == PAUSED[:-3:-1]
    assert names_of(crowd, gd.Workflow.ready().limit(3).ids()) == READY[:3]
    assert paused.first() == crowd["first"]


def test_workflows_that_wait_are_found_by_class(geneva: gd.Drive, crowd: dict[str, Handle]) -> None:
    assert names_of(crowd, Asking.paused().ids()) == ["first", "held while waiting", "last"]
    assert names_of(crowd, Other.paused().ids()) == ["other"]
    assert names_of(crowd, Asking.ready().ids()) == ["decided"]
    assert Beside.paused().ids() == []


def test_workflows_that_wait_are_found_by_hero(geneva: gd.Drive) -> None:
    hero = gd.HeroRef("AskedOrder", "7")
    workflow = Asking.create(hero=hero)
    Asking.create(hero=gd.HeroRef("AskedOrder", "8"))
    drain(geneva)

    assert Asking.paused().for_hero(hero).ids() == [workflow.id]
    assert Asking.paused().for_hero(hero).count() == 1
    assert Asking.ready().for_hero(hero).ids() == []


def test_a_workflow_that_performs_is_found_among_those_that_wait(
    geneva: gd.Drive, crowd: dict[str, Handle]
) -> None:
    asked_again = Looking.create()

    drain(geneva)

    [(ready, performing, paused)] = seen
    assert performing == [asked_again.id]
    assert asked_again.id not in ready + paused
    assert names_of(crowd, paused) == PAUSED


def test_a_decision_moves_a_workflow_from_one_list_to_the_other(geneva: gd.Drive) -> None:
    workflow = Asking.create()
    drain(geneva)
    assert (Asking.paused().ids(), Asking.ready().ids()) == ([workflow.id], [])

    asked(geneva).approve(by="ann")

    assert (Asking.paused().ids(), Asking.ready().ids()) == ([], [workflow.id])
    assert (Asking.paused().count(), Asking.ready().count()) == (0, 1)
