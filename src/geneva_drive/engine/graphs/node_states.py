"""Where the nodes of a graph stand, and which of them may run now: pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.serialization import typed_json
from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, StepState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """What is known of a node by the latest attempt at it."""

    state: StepState
    outcome: Outcome | None
    ancestry_hash: str | None
    chosen: tuple[str, ...] | None = None  # the branches, of a decision that was made

    @property
    def is_done(self) -> bool:
        return is_done(self.state, self.outcome)

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STEP_STATES


@dataclass(frozen=True, slots=True)
class Unlocked:
    """What follows from where a graph's nodes stand."""

    ready: tuple[str, ...]  # every dependency is met, and no attempt was made
    passed_over: tuple[str, ...]  # on branches that were not chosen
    is_over: bool


def id_in_graph(definition: Definition | None, graph: Graph, step_name: str) -> str:
    """Give the id that a step has in a graph, be it that it was renamed since, or before."""
    if step_name in graph.parents:
        return step_name
    node = definition.get(step_name) if definition else None
    if node is None:
        return step_name
    former = node.options.renamed_from
    is_older = node.name not in graph.parents and former in graph.parents
    return former if is_older and former is not None else node.name


def node_statuses(
    definition: Definition | None, graph: Graph, attempts: Iterable[ExecutionRecord]
) -> dict[str, NodeStatus]:
    """Say where each node stands that has been tried, by the id that it has in the graph."""
    by_node: dict[str, list[ExecutionRecord]] = defaultdict(list)
    for attempt in attempts:
        by_node[id_in_graph(definition, graph, attempt.step_name)].append(attempt)
    found = {name: _status_of(records) for name, records in by_node.items()}
    return {
        name: replace(one, chosen=_present(definition, graph, one.chosen))
        for name, one in found.items()
        if one is not None
    }


def _present(
    definition: Definition | None, graph: Graph, chosen: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    if chosen is None:
        return None
    return tuple(id_in_graph(definition, graph, name) for name in chosen)


def _status_of(records: list[ExecutionRecord]) -> NodeStatus | None:
    latest = latest_attempts(records)
    if not latest:
        return None
    # Of a step that was divided, the partition that is furthest from being done stands for it.
    last = min(latest, key=lambda one: (is_done(one.state, one.outcome), _is_over(one)))
    return NodeStatus(
        state=last.state,
        outcome=last.outcome,
        ancestry_hash=last.ancestry_hash,
        chosen=_chosen(last),
    )


def _is_over(record: ExecutionRecord) -> bool:
    return record.state not in ACTIVE_STEP_STATES


def _chosen(record: ExecutionRecord) -> tuple[str, ...] | None:
    chosen = (typed_json.load(record.metadata) or {}).get("chosen")
    return None if chosen is None else tuple(chosen)


def _is_passed_over(node: str, parents: Sequence[NodeStatus]) -> bool:
    """Say whether a node whose parents are all done is on no branch that was chosen."""
    if any(one.chosen is not None and node not in one.chosen for one in parents):
        return True
    return bool(parents) and all(one.outcome is Outcome.SKIPPED_BY_BRANCH for one in parents)


def unlock(graph: Graph, statuses: Mapping[str, NodeStatus]) -> Unlocked:
    """Find the nodes that may run now, and those that were not chosen."""
    known = dict(statuses)
    ready: list[str] = []
    passed_over: list[str] = []
    for node in graph.order:
        if node in known:
            continue
        parents = [known[parent] for parent in graph.parents[node] if parent in known]
        # Also for a branch that was not chosen: what waits for it waits for all before it.
        if len(parents) < len(graph.parents[node]) or not all(one.is_done for one in parents):
            continue
        if _is_passed_over(node, parents):
            passed_over.append(node)
            known[node] = NodeStatus(
                state=StepState.SKIPPED, outcome=Outcome.SKIPPED_BY_BRANCH, ancestry_hash=None
            )
        else:
            ready.append(node)
    is_over = all(node in known and known[node].is_done for node in graph.order)
    return Unlocked(tuple(ready), tuple(passed_over), is_over)
