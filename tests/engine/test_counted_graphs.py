"""Random stored graphs on a database, whose nodes are counted down instead of looked at."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed, with_stored_nodes
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import (
    Lost,
    Raised,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
)
from geneva_drive.states import Outcome, is_done
from geneva_drive.worker.claims.claimer import claim_one
from geneva_drive.worker.identity import Identity
from tests.engine.cases import ERROR, reattempting

OUTCOMES: tuple[StepOutcome, ...] = (
    Returned(),
    Returned(),
    Returned(),
    Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL),
    Reattempted(timedelta(0)),
    Raised(ERROR, reattempting(None)),
    Lost("Worker w was lost.", None),
)


def random_graph(chance: Random, size: int) -> gd.DynamicWorkflow:
    w = gd.DynamicWorkflow()
    ids: list[str] = []
    for number in range(size):
        parents = chance.sample(ids, min(len(ids), chance.choice((0, 1, 2, 2, 3, 8))))
        ids.append(w.node(f"n{number}", depends_on=parents))
    return w


class Hands:
    """Claims nodes of a workflow, and ends several of them in one transaction."""

    def __init__(self, drive: gd.Drive, workflow: gd.WorkflowHandle[Any], chance: Random) -> None:
        self._environment = drive.environment
        self._workflow = workflow
        self._chance = chance
        self._identity = Identity()
        self._held: list[Claimed] = []
        self._nodes = workflow.dag["nodes"]
        self.done: list[str] = []

    def run(self) -> None:
        while waiting := self._waiting() or self._held:
            if waiting is not self._held and self._chance.random() < 1 / 2:
                self._claim(self._chance.choice(waiting))
            elif self._held:
                self._end(self._chance.sample(self._held, self._chance.randint(1, len(self._held))))

    def _waiting(self) -> list[Any]:
        return [
            one.id for one in self._workflow.reload().current_executions if one.state == "scheduled"
        ]

    def _claim(self, execution_id: Any) -> None:
        claimed = claim_one(self._environment, self._identity, execution_id)
        assert claimed is not None
        node_id = claimed.execution.node_id
        assert set(self._nodes[node_id]["depends_on"]) <= set(self.done), "it starts too early"
        assert node_id not in self.done, "it runs twice"
        if self._chance.random() < 1 / 2:  # as a worker has it, so that its end may be plain
            [claimed] = with_stored_nodes(self._environment, [claimed])
        self._held.append(claimed)

    def _end(self, ended: list[Claimed]) -> None:
        outcomes = [self._chance.choice(OUTCOMES) for _ in ended]
        endings = [one.ending(outcome) for one, outcome in zip(ended, outcomes, strict=True)]
        assert None not in commit_endings(self._environment, endings)
        self._held = [one for one in self._held if one not in ended]
        self.done += [
            one.execution.node_id
            for one, outcome in zip(ended, outcomes, strict=True)
            if isinstance(outcome, Returned | Skipped)
        ]


# Few, and on one database, as each of them writes some hundred transactions.
@pytest.mark.databases("sqlite")
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 30), st.integers(0, 2**32).map(Random))
def test_a_stored_graph_runs_each_node_once_after_its_parents_in_whatever_order_they_end(
    geneva: gd.Drive, size: int, chance: Random
) -> None:
    workflow = random_graph(chance, size).start()
    hands = Hands(geneva, workflow, chance)

    hands.run()

    assert workflow.reload().state == "finished"
    assert (workflow.progress().done, workflow.progress().total) == (size, size)
    assert workflow.verify_ancestry() == []
    done = [e.node_id for e in workflow.step_executions if is_done(e.state, e.outcome)]
    assert sorted(done) == sorted(hands.done) == sorted(workflow.dag["nodes"])
