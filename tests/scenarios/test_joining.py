"""Parents end at the same moment on two workers, and what waits for both runs once."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, wait_until_finished
from tests.scenarios.crew import Crew

pytestmark = pytest.mark.scenario

PAIRS = 40
ROUNDS = 5


@pytest.fixture
def crew(
    geneva: gd.Drive, graphs: ModuleType, start: StartProcess, chance: random.Random, tmp_path: Path
) -> Crew:
    return Crew(geneva, graphs, start=start, notes=tmp_path, chance=chance)


def test_a_storm_of_joins_runs_each_of_them_once(
    geneva: gd.Drive, crew: Crew, graphs: ModuleType
) -> None:
    dynamic = [graphs.pairs_and_joins(PAIRS).start() for _ in range(ROUNDS)]
    of_class = [graphs.Knot.create() for _ in range(4 * ROUNDS)]
    wait_until_finished(geneva, len(dynamic) + len(of_class))

    assert crew.stop() == [0, 0]
    runs = Counter((e.workflow_id, e.node_id, e.state) for e in geneva.executions())
    assert runs == {
        (workflow.id, node_id, "completed"): 1
        for workflow in (*dynamic, *of_class)
        for node_id in workflow.dag["nodes"]
    }
    assert {w.progress().done for w in dynamic} == {3 * PAIRS}
    assert [w.verify_ancestry() for w in (*dynamic, *of_class)] == [[]] * len(dynamic + of_class)
