"""Children end while their parents are canceled, on two workers at once."""

from __future__ import annotations

import random
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError
from tests.scenarios.conftest import StartProcess
from tests.scenarios.crew import Crew
from tests.scenarios.processes import Process, wait_until

pytestmark = pytest.mark.scenario

PARENTS = 60
ENDED = ("finished", "canceled")

Handle = gd.WorkflowHandle[Any]


class Family:
    """Two workers that are watched, and parents that come one after the other."""

    def __init__(
        self,
        drive: gd.Drive,
        graphs: ModuleType,
        *,
        start: StartProcess,
        notes: Path,
        chance: random.Random,
    ) -> None:
        self._drive = drive
        self._graphs = graphs
        # Long enough that nobody is taken for dead who only waits for the machine.
        self._start = partial(start, lease="60s")
        self._chance = chance
        self._processes: list[Process] = []
        self.crew = Crew(drive, graphs, start=self._watched, notes=notes, chance=chance)
        self.parents: list[Handle] = []
        wait_until(lambda: len(drive.workers) == 2, "both workers have signed on")

    def _watched(self, *arguments: str, **settings: Any) -> Process:
        self._processes.append(self._start(*arguments, **settings))
        return self._processes[-1]

    def beget_and_cancel(self, count: int) -> None:
        """Create parents, and cancel about half of them somewhere on their way."""
        for _ in range(count):
            parent = self._chance.choice([self._graphs.OneChild, self._graphs.TwoChildren])
            self.parents.append(parent.using(self._drive).create())
            if self._chance.random() < 2 / 3:
                _cancel_if_ongoing(self._chance.choice(self._with_children() or self.parents[-6:]))

    def _with_children(self) -> list[Handle]:
        """Now and then, find parents whose children are under way."""
        if self._chance.random() < 1 / 2:
            return []
        waiting = self._drive.executions(state="waiting").limit(6)
        return [gd.Workflow.using(self._drive).find(one.workflow_id) for one in waiting]

    def wait_for_all(self) -> None:
        workflows = gd.Workflow.using(self._drive)
        try:
            wait_until(lambda: workflows.ongoing().count() == 0, "every workflow has ended")
        except AssertionError as error:
            for workflow in workflows.ongoing():
                error.add_note(f"{workflow!r}: {workflow.why()} {workflow.step_executions}")
            raise

    def complaints(self) -> str:
        return "".join(process.complaints for process in self._processes)


def _cancel_if_ongoing(parent: Handle) -> None:
    with suppress(InvalidStateError):  # it has ended
        parent.cancel()


@pytest.fixture
def family(
    geneva: gd.Drive, graphs: ModuleType, start: StartProcess, chance: random.Random, tmp_path: Path
) -> Family:
    return Family(geneva, graphs, start=start, notes=tmp_path, chance=chance)


def test_children_end_while_their_parents_are_canceled_and_nobody_waits_for_ever(
    geneva: gd.Drive, family: Family, graphs: ModuleType
) -> None:
    family.beget_and_cancel(PARENTS)
    family.wait_for_all()
    complaints = family.complaints()

    assert complaints == ""
    assert family.crew.stop() == [0, 0]
    _assert_children_ended_as_their_parents_did(geneva, family.parents, graphs)


def test_families_are_whole_after_a_worker_was_killed_among_them(
    geneva: gd.Drive, family: Family, graphs: ModuleType
) -> None:
    for _ in range(3):
        family.beget_and_cancel(PARENTS // 3)
        family.crew.kill(1)
        geneva.store.write(geneva.store.workers.expire_all)
        family.crew.fill_up()
    family.wait_for_all()

    assert family.crew.stop() == [0, 0]
    _assert_children_ended_as_their_parents_did(geneva, family.parents, graphs)


def _assert_children_ended_as_their_parents_did(
    drive: gd.Drive, parents: list[Handle], graphs: ModuleType
) -> None:
    ends = {parent.id: parent.reload().state for parent in parents}
    assert set(ends.values()) == set(ENDED), "chance has canceled all of them, or none"
    children = graphs.Child.using(drive).query().all()
    parent_of = _parents_of(drive, children)
    of_finished = [child for child in children if ends[parent_of[child.id]] == "finished"]
    detached = [child for child in children if child.type == "Independent"]
    assert {child.state for child in of_finished} == {"finished"}
    assert {child.state for child in detached} == {"finished"}
    # A child that had finished before its parent was canceled stays as it is.
    assert {child.state for child in children} == set(ENDED), "no child was canceled"


def _parents_of(drive: gd.Drive, children: list[Handle]) -> dict[int, int]:
    store = drive.store
    owners = {one.id: one.workflow_id for one in drive.executions()}
    records = store.read(lambda c: store.workflows.get_many(c, [child.id for child in children]))
    return {key: owners[record.parent_execution_id] for key, record in records.items()}
