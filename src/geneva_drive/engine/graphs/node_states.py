"""The status of each node of a graph, and which nodes may run now. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.serialization import typed_json
from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, StepState, is_done
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStatus:
    """The latest attempt at a node; of several partitions, the one furthest from done."""

    state: StepState
    outcome: Outcome | None
    ancestry_hash: str | None
    chosen: tuple[str, ...] | None = None  # the branches that a decision chose

    @property
    def is_done(self) -> bool:
        return is_done(self.state, self.outcome)


@dataclass(frozen=True, slots=True)
class Unlocked:
    """The nodes that a graph's statuses unlock."""

    ready: tuple[str, ...]  # every dependency is done, and no attempt was made
    passed_over: tuple[str, ...]  # on branches that were not chosen
    is_over: bool


def id_in_graph(definition: Definition | None, graph: Graph, step_name: str) -> str:
    """Return the step's node id, following renames in either direction."""
    if step_name in graph.parents:
        return step_name
    node = definition.get(step_name) if definition else None
    if node is None:
        return step_name
    former = node.options.renamed_from
    is_older = node.name not in graph.parents and former in graph.parents
    return former if is_older and former is not None else node.name


def node_statuses(
    definition: Definition | None,
    graph: Graph,
    attempts: Iterable[ExecutionRecord],
    expansions: Mapping[str, ExpansionRecord] = MappingProxyType({}),
) -> dict[str, NodeStatus]:
    """Return the status of each node with an attempt, by its id in the graph.

    The status of a batch's workers, or of a map, follows from the counts of its expansion.
    """
    by_node: dict[str, list[ExecutionRecord]] = defaultdict(list)
    for attempt in attempts:
        by_node[id_in_graph(definition, graph, attempt.step_name)].append(attempt)
    found = {name: _status_of(records) for name, records in by_node.items()}
    statuses = {
        name: replace(one, chosen=_present(definition, graph, one.chosen))
        for name, one in found.items()
        if one is not None
    }
    for name, expansion in expansions.items():
        statuses[id_in_graph(definition, graph, name)] = status_of_all(expansion)
    return statuses


def status_of_all(expansion: ExpansionRecord) -> NodeStatus:
    state, outcome = StepState.IN_PROGRESS, None
    if expansion.is_over:
        state, outcome = StepState.COMPLETED, Outcome.SUCCESS
    elif expansion.is_complete:
        state, outcome = StepState.FAILED, Outcome.PAUSED_BY_EXCEPTION
    return NodeStatus(state=state, outcome=outcome, ancestry_hash=expansion.ancestry_hash)


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
    """True if a node, whose parents are all done, is on no chosen branch."""
    if any(one.chosen is not None and node not in one.chosen for one in parents):
        return True
    return bool(parents) and all(one.outcome is Outcome.SKIPPED_BY_BRANCH for one in parents)


def unlock(graph: Graph, statuses: Mapping[str, NodeStatus]) -> Unlocked:
    """Return the nodes that may run now, and the nodes on branches that were not chosen."""
    known = dict(statuses)
    ready: list[str] = []
    passed_over: list[str] = []
    for node in graph.order:
        if node in known:
            continue
        parents = [known[parent] for parent in graph.parents[node] if parent in known]
        # A skipped branch also waits for all its parents, so that its dependants wait for them too.
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
