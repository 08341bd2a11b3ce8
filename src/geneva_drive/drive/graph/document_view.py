"""The graph of a document for display: its steps, and the path that a workflow took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from geneva_drive.declarative.runtime import certain_path, flow_graph
from geneva_drive.declarative.runtime.compiler import declared_kind
from geneva_drive.declarative.runtime.document_definition import DocumentDefinition
from geneva_drive.declarative.steps import ConditionStep, ForeachStep, ParallelStep, Step
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.states import Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def view_of_document(definition: Definition, *, is_whole: bool) -> GraphView:
    """Return the steps of a document; `is_whole` includes those inside `parallel` and `foreach`."""
    document = cast("DocumentDefinition", definition)
    graph = (flow_graph.whole_graph if is_whole else flow_graph.flow_graph)(document)
    nodes = {name: NodeView(name, name, _drawn_kind(document.step(name))) for name in graph.order}
    return GraphView(nodes, graph)


def _drawn_kind(step: Step | None) -> NodeKind:
    if step is None:
        return NodeKind.STEP
    if isinstance(step, ConditionStep):
        return NodeKind.DECISION
    # Their steps run as child workflows.
    return NodeKind.CHILD if isinstance(step, ParallelStep | ForeachStep) else declared_kind(step)


def with_way_taken(
    view: GraphView,
    record: WorkflowRecord,
    definition: Definition,
    attempts: Mapping[str, Sequence[ExecutionRecord]],
) -> GraphView:
    """Return a view with the edges that were followed, and the steps not chosen as skipped."""
    document = cast("DocumentDefinition", definition)
    ahead: set[str] = set()
    present = record.next_step_name
    if record.state is not WorkflowState.FINISHED and document.get(present or ""):
        ahead.update(certain_path.reachable(document, present or ""))
    nodes = {
        key: node
        if key in attempts or key in ahead
        else node._replace(state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_BRANCH)
        for key, node in view.nodes.items()
    }
    taken = dict(_taken(view.graph, attempts))
    left = {parent for parents in taken.values() for parent in parents}
    untaken = frozenset(
        (parent, child)
        for child, parents in view.graph.parents.items()
        for parent in parents
        if (parent not in taken[child] if child in taken else parent in left)
    )
    return replace(view, nodes=nodes, untaken=untaken)


def _taken(
    graph: Graph, attempts: Mapping[str, Sequence[ExecutionRecord]]
) -> Iterator[tuple[str, set[str]]]:
    """Yield each reached step with the step before it: the latest one that may lead to it."""
    began = {key: max(one.created_at for one in found) for key, found in attempts.items()}
    for key in began:
        parents = [each for each in graph.parents.get(key, ()) if each in began]
        latest = max((began[each] for each in parents), default=None)
        yield key, {each for each in parents if began[each] == latest}
