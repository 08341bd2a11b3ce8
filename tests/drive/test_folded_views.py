"""The graph of a large workflow as its page shows it: workers are counted, most times left out."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import geneva_drive as gd
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.graph.outline import MOST_NODES, Outline, Outlines
from geneva_drive.testing import drain, perform_next_step


class Posting(gd.Workflow):
    type_name = "FoldedPosting"

    @gd.map(lambda _: range(6), parallelism=5, retry=gd.Retry(max=1, backoff=0.0))
    def post(self, item: int) -> None:
        if item == 2 or (item == 3 and self.attempt == 1):
            raise ConnectionError("no answer")


@gd.job(name="folded.note")
def note() -> None: ...


def _fan(drive: gd.Drive, size: int) -> gd.WorkflowHandle[Any]:
    built = gd.DynamicWorkflow(drive=drive)
    built.node("first", job=note)
    built.fan_out(range(size), name="part_{}", job=note)
    built.node("last", job=note)
    return built.start()


def test_workers_are_counted_by_their_latest_attempts(geneva: gd.Drive) -> None:
    workflow = Posting.create()
    drain()

    listed = view_of_workflow(geneva, workflow.id)
    folded = view_of_workflow(geneva, workflow.id, is_folded=True)

    counts = Counter(completed=4, failed=1, scheduled=1)
    assert folded.count_states() == listed.count_states() == counts
    assert folded.workers == {}
    own, other = folded.nodes["post"], listed.nodes["post"]
    assert (own.state, own.outcome, own.attempt_number) == ("failed", "paused_by_exception", 2)
    assert (other.state, other.outcome, other.attempt_number) == own[5:8]


def test_a_large_fold_has_the_same_states_and_the_nodes_beside_it_their_times(
    geneva: gd.Drive,
) -> None:
    workflow = _fan(geneva, 2_000)
    perform_next_step(workflow)
    perform_next_step(workflow)

    listed = view_of_workflow(geneva, workflow.id).nodes
    folded = view_of_workflow(geneva, workflow.id, is_folded=True).nodes

    first = next(node for node in listed.values() if node.name == "first")
    assert folded[first.id] == first
    assert first.finished_at is not None
    assert [node[:8] for node in folded.values()] == [node[:8] for node in listed.values()]
    assert Counter(node.state for node in folded.values()) == Counter(
        completed=2, scheduled=1_999, pending=1
    )
    assert [node.started_at is None for node in folded.values()] == [
        node.started_at is None for node in listed.values()
    ]


def test_an_imported_graph_is_read_anew_although_its_edges_are_the_same(geneva: gd.Drive) -> None:
    workflow = _fan(geneva, 3)
    before = {node.name for node in view_of_workflow(geneva, workflow.id).nodes.values()}

    workflow.import_dag(workflow.export_dag().replace("part_2", "part_9"))
    after = {node.name for node in view_of_workflow(geneva, workflow.id).nodes.values()}

    assert before - after == {"part_2"}
    assert after - before == {"part_9"}


def test_the_outlines_that_were_read_longest_ago_are_forgotten() -> None:
    kept = Outlines()
    nodes = {str(number): NodeView(str(number), "a", NodeKind.TASK) for number in range(10)}
    large = Outline(
        nodes=dict.fromkeys(map(str, range(MOST_NODES - 10)), nodes["0"]),
        graph=Graph.of({}),
        batch_workers=(),
    )
    small = Outline(nodes=nodes, graph=Graph.of({}), batch_workers=())
    read: list[str] = []

    def reading(name: str, outline: Outline) -> Outline:
        read.append(name)
        return outline

    for name, outline in (("a", small), ("b", large), ("a", small), ("c", small), ("a", small)):
        kept.get((name, "", 0), partial(reading, name, outline))
    kept.get(("b", "", 0), partial(reading, "b", large))

    assert read == ["a", "b", "c", "b"]
