"""Workers die at random moments while they do a graph of many nodes, a third flawed."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.storage.schema.records import ExecutionRecord
from tests.scenarios.conftest import (
    StartProcess,
    effects_of,
    recovered,
    wait_for_completed,
    wait_until_finished,
)
from tests.scenarios.crew import Crew
from tests.scenarios.soak import NODES_OF_GRAPHS as NODES

pytestmark = pytest.mark.scenario

KILLS = 6

Handle = gd.WorkflowHandle[Any]
Attempts = dict[str, list[ExecutionRecord]]  # of each node, in order


@dataclass(frozen=True, slots=True)
class Begun:
    """A body that began, as it noted itself."""

    node_id: str
    attempt: int
    at: datetime


@pytest.mark.timeout(600)
def test_workers_are_killed_in_a_graph_and_every_node_is_done_once_after_its_parents(
    geneva: gd.Drive, graphs: ModuleType, start: StartProcess, chance: random.Random, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    crew = Crew(geneva, graphs, start=start, notes=notes, chance=chance)
    workflow = graphs.random_graph(chance, NODES).start()
    for kill in range(1, KILLS + 1):
        wait_for_completed(geneva, kill * NODES // (KILLS + 2))
        threading.Event().wait(chance.uniform(0, 0.1))
        crew.kill(chance.choice((1, 1, 2)))
        crew.expire_leases_of_the_dead()
        crew.fill_up()
    wait_until_finished(geneva, 1)

    assert crew.stop() == [0, 0]
    assert (workflow.progress().done, workflow.progress().total) == (NODES, NODES)
    assert workflow.verify_ancestry() == []
    attempts = _attempts(geneva)
    _assert_every_node_is_completed_once(attempts, workflow.dag["nodes"])
    begun = _begun(notes)
    _assert_bodies_agree(attempts, begun)
    noted = [(body.node_id, body.at) for body in begun]
    _assert_none_began_before_its_parents_were_done(attempts, workflow.dag["nodes"], noted)
    recorded = [(node, _moment(e.started_at)) for node, ones in attempts.items() for e in ones]
    _assert_none_began_before_its_parents_were_done(attempts, workflow.dag["nodes"], recorded)
    booked = [name for name in _names(workflow) if name.startswith("book")]
    assert effects_of(geneva) == {(workflow.id, name): 1 for name in booked}
    assert recovered(geneva) > 0, "no kill hit a running node; the load is too light"


def _names(workflow: Handle) -> list[str]:
    return [node["name"] for node in workflow.dag["nodes"].values()]


def _attempts(drive: gd.Drive) -> Attempts:
    store = drive.store
    found: Attempts = defaultdict(list)
    for record in store.read(lambda c: store.executions.list_matching(c, {}, limit=None)):
        found[record.node_id].append(record)
    return {node: sorted(ones, key=lambda one: one.attempt_number) for node, ones in found.items()}


def _assert_every_node_is_completed_once(attempts: Attempts, nodes: dict[str, Any]) -> None:
    """Attempts that failed or were recovered, numbered without a gap, and one success."""
    assert attempts.keys() == nodes.keys()
    for records in attempts.values():
        assert [one.attempt_number for one in records] == list(range(1, len(records) + 1))
        assert [one.outcome for one in records][-1] == "success"
        assert {one.outcome for one in records[:-1]} <= {"recovered", "reattempted_by_exception"}
        assert not any(one.claimable or one.claim_token for one in records)


def _assert_none_began_before_its_parents_were_done(
    attempts: Attempts, nodes: dict[str, Any], begun: list[tuple[str, datetime]]
) -> None:
    done_at = {node_id: _moment(records[-1].finished_at) for node_id, records in attempts.items()}
    early = [
        (node_id, at, parent, done_at[parent])
        for node_id, at in begun
        for parent in nodes[node_id]["depends_on"]
        if at < done_at[parent]
    ]
    assert early == []


def _moment(at: datetime | None) -> datetime:
    assert at is not None
    return at


def _assert_bodies_agree(attempts: Attempts, begun: list[Begun]) -> None:
    """Compare with what the bodies noted: none ran of which there is no record, none twice."""
    runs = Counter((body.node_id, body.attempt) for body in begun)
    recorded = {(node, one.attempt_number) for node, ones in attempts.items() for one in ones}
    assert runs.keys() <= recorded
    assert {(node, len(ones)) for node, ones in attempts.items()} <= runs.keys()
    # The body of a transaction that the database took away runs again in the same attempt.
    again = {node for (node, _), times in runs.items() if times > 1}
    assert [node for node in again if attempts[node][0].step_name.startswith("visit")] == []


def _begun(folder: Path) -> list[Begun]:
    lines = [line.split() for path in folder.iterdir() for line in path.read_text().splitlines()]
    return [
        Begun(node_id, int(attempt), datetime.fromisoformat(at)) for node_id, attempt, at in lines
    ]
