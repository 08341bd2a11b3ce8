"""The state of a workflow: its graph, with the state and the definition of each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.nodes import approval, event_wait
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.phrases import from_docstring, from_name, phrase_of
from geneva_drive.definition.options.event_terms import OnEventTimeout
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.options.policies import ExceptionAction, ExceptionPolicy
from geneva_drive.drive.consequences import document_walk
from geneva_drive.drive.consequences.fate import Fate
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, StepState, is_done
from geneva_drive.storage.schema.expansion_record import ExpansionRecord
from geneva_drive.storage.schema.records import WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.declarative.runtime.document_definition import DocumentDefinition

_NO_OPTIONS = Options()
_AHEAD = (None, StepState.PENDING, StepState.SCHEDULED)
_FEW_PARENTS = 100
_UNDONE = (StepState.FAILED, StepState.CANCELED)


@dataclass(frozen=True, kw_only=True)  # no slots: they leave no room for cached properties
class Situation:
    """What was read of a workflow; `definition` is None if this process lacks the class."""

    workflow: WorkflowRecord
    view: GraphView
    definition: Definition | None = None
    expansions: Mapping[str, ExpansionRecord] = field(default_factory=lambda: MappingProxyType({}))
    is_chain: bool = False
    # The branches that nodes which are done have chosen.
    chosen: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def graph(self) -> Graph:
        return self.view.graph

    def node(self, node_id: str) -> NodeView:
        return self.view.nodes[node_id]

    def declared(self, node_id: str) -> Node | None:
        """Return the node of the class; None for one that calls a job of a stored graph."""
        return None if self.definition is None else self.definition.get(node_id)

    @property
    def document(self) -> DocumentDefinition | None:
        """The document, whose steps decide at run time what follows; None for a class."""
        if self.definition is None or not self.definition.is_document:
            return None
        return cast("DocumentDefinition", self.definition)

    def options(self, node_id: str) -> Options:
        declared = self.declared(node_id)
        if declared is not None:
            return declared.options
        job = jobs.get(self.node(node_id).job or "")
        return _NO_OPTIONS if job is None else job.options

    def wait_before(self, node_id: str) -> timedelta:
        return self.options(node_id).wait

    def is_conditional(self, node_id: str) -> bool:
        return self.options(node_id).condition is not None

    def phrase(self, node_id: str) -> str:
        declared = self.declared(node_id)
        if declared is not None:
            return phrase_of(declared)
        node = self.node(node_id)
        job = jobs.get(node.job or "")
        return from_docstring(None if job is None else job.__doc__) or from_name(node.name)

    def reattempts(self, node_id: str) -> int | None:
        """Return how often a node is reattempted, if one policy covers all errors."""
        own = self.options(node_id).policies
        of_class = () if self.definition is None else self.definition.policies
        limits = {
            one.max_reattempts
            for one in (*own, *of_class)
            if isinstance(one, ExceptionPolicy) and one.action is ExceptionAction.REATTEMPT
        }
        is_plain = all(isinstance(one, ExceptionPolicy) for one in (*own, *of_class))
        return limits.pop() if is_plain and len(limits) == 1 else None

    def chooses(self, node_id: str) -> bool:
        """True if some nodes after this one run only if it chooses them."""
        declared = self.declared(node_id)
        if self.document is not None:
            return document_walk.decides(self.document, node_id)
        if self.node(node_id).kind is NodeKind.DECISION:
            return True
        if declared is not None and declared.is_approval:
            terms = declared.terms
            return terms.reject_task is not None or terms.timeout_task is not None
        return bool(declared and declared.is_event_wait and declared.event_terms.timeout_task)

    def branches_after_skip(self, node_id: str) -> tuple[str, ...] | None:
        """Return the nodes after this one that run if it is skipped; None for all of them."""
        declared = self.declared(node_id)
        if declared is None or self.definition is None or self.document is not None:
            return None
        if declared.is_approval:
            return approval.branches(self.definition, declared, rejected=False, expired=False)
        if declared.is_event_wait:
            return event_wait.branches(self.definition, declared, timed_out=False)
        return None

    def may_end(self, node_id: str) -> bool:
        """True if a person or an event decides whether the workflow continues after the node."""
        declared = self.declared(node_id)
        if declared is None or self.document is not None:
            return False
        if declared.is_event_wait:
            return declared.event_terms.on_timeout is OnEventTimeout.CANCEL
        return declared.is_approval

    @cached_property
    def deciding(self) -> AbstractSet[str]:
        """The nodes that choose what follows, or decide whether the workflow continues."""
        if self.definition is None:
            nodes = self.view.nodes
            return {key for key, node in nodes.items() if node.kind is NodeKind.DECISION}
        return {key for key in self.graph.order if self.chooses(key) or self.may_end(key)}

    def is_done(self, node_id: str) -> bool:
        node = self.node(node_id)
        return node.state is not None and is_done(node.state, node.outcome)

    def is_passed_over(self, node_id: str) -> bool:
        return self.node(node_id).outcome is Outcome.SKIPPED_BY_BRANCH

    def is_active(self, node_id: str) -> bool:
        return self.node(node_id).state in ACTIVE_STEP_STATES

    def has_failed(self, node_id: str) -> bool:
        return self.node(node_id).state in _UNDONE

    @cached_property
    def known_fates(self) -> Mapping[str, Fate]:
        """The fates of the nodes that have been reached; a huge graph has 100,000."""
        if self.is_chain:
            steps = ((key, self._fate_in_chain(key)) for key in self.graph.order)
            return {key: fate for key, fate in steps if fate is not None}
        nodes = self.view.nodes
        ends = {(node.state, node.outcome) for node in nodes.values()}
        fates = {(state, outcome): _fate_of(state, outcome) for state, outcome in ends}
        found = {}
        for key in self.graph.order:
            node = nodes[key]
            fate = fates[node.state, node.outcome]
            if fate is not None:
                found[key] = fate
        return found

    def fates_of_parents(self, node_id: str, own: Mapping[str, Fate]) -> AbstractSet[Fate]:
        """Return the fates of the nodes before a node; `own` are those that a command changes.

        A node may have 100,000 parents: the fates that no command changes are counted once for all
        commands.
        """
        parents, known = self.graph.parents[node_id], self.known_fates
        if len(parents) <= _FEW_PARENTS:
            return {own.get(each) or known[each] for each in parents}
        among, counts = self._counted_parents(node_id)
        changed = [each for each in own if each in among]
        before = Counter(known.get(each) for each in changed)
        unchanged = {fate for fate, count in counts.items() if count > before[fate]}
        return unchanged | {own[each] for each in changed}

    def _counted_parents(self, node_id: str) -> tuple[AbstractSet[str], Mapping[Fate, int]]:
        counted = self._counted.get(node_id)
        if counted is None:
            among = frozenset(self.graph.parents[node_id])
            fates = map(self.known_fates.get, among)
            counts = Counter(fate for fate in fates if fate is not None)
            counted = self._counted[node_id] = (among, counts)
        return counted

    @cached_property
    def _counted(self) -> dict[str, tuple[AbstractSet[str], Mapping[Fate, int]]]:
        return {}

    def _fate_in_chain(self, node_id: str) -> Fate | None:
        place = self.place_in_chain(node_id)
        if place == 0 or self.is_active(node_id):
            return _fate_of(self.node(node_id).state, self.node(node_id).outcome)
        return Fate.DONE if place < 0 else None

    @cached_property
    def decided(self) -> list[str]:
        """The nodes that have chosen, and that a node not yet reached depends on."""
        known, dependants = self.known_fates, self.graph.dependants
        return [
            each
            for each in self.deciding
            if known.get(each) is Fate.DONE and any(one not in known for one in dependants[each])
        ]

    @cached_property
    def undecided(self) -> Sequence[str]:
        """The nodes that have not been reached, in their order."""
        return [key for key in self.graph.order if key not in self.known_fates]

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {node_id: place for place, node_id in enumerate(self.graph.order)}

    @cached_property
    def _ahead_in_document(self) -> Mapping[str, int]:
        assert self.document is not None, "asked only of documents"
        ahead = document_walk.ahead_of(self.document, self.workflow.next_step_name)
        return {node_id: place for place, node_id in enumerate(ahead)}

    def place_in_chain(self, node_id: str) -> int:
        """Return a step's place relative to the current step: negative before, positive after it.

        A chain continues from its current step whatever ran before: an operator may have moved it.
        Steps that a document can no longer reach count as before it.
        """
        if self.document is not None:
            return self._ahead_in_document.get(node_id, -1)
        present = self._places.get(self.workflow.next_step_name or "", 0)
        return self._places[node_id] - present

    def never_started(self) -> Iterator[str]:
        """Yield the nodes ahead whose bodies have not run yet."""
        nodes = self.view.nodes
        for node_id in self.graph.order:
            if self.is_chain and self.place_in_chain(node_id) < 0:
                continue
            node = nodes[node_id]
            if node.state in _AHEAD and node.attempt_number <= 1 and node.started_at is None:
                yield node_id

    def all_with(self, state: StepState) -> list[str]:
        return self._by_state.get(state, [])

    @cached_property
    def _by_state(self) -> Mapping[StepState | None, list[str]]:
        found: dict[StepState | None, list[str]] = {}
        for key, node in self.view.nodes.items():
            found.setdefault(node.state, []).append(key)
        return found

    @property
    def active(self) -> list[str]:
        return [key for state in sorted(ACTIVE_STEP_STATES) for key in self.all_with(state)]

    @property
    def due(self) -> list[str]:
        """The active nodes that are not running."""
        states = sorted(ACTIVE_STEP_STATES - {StepState.IN_PROGRESS})
        return [key for state in states for key in self.all_with(state)]

    @property
    def failed(self) -> list[str]:
        """The nodes that failed and hold the workflow, without batches and maps."""
        return [
            key
            for state in _UNDONE
            for key in self.all_with(state)
            if key not in self.expansions and (not self.is_chain or self.place_in_chain(key) == 0)
        ]

    @property
    def running(self) -> list[str]:
        return self.all_with(StepState.IN_PROGRESS)

    @property
    def blocked_expansions(self) -> list[ExpansionRecord]:
        """The batches and maps whose failed workers keep the workflow paused."""
        return [one for one in self.expansions.values() if one.is_blocked]


def _fate_of(state: StepState | None, outcome: Outcome | None) -> Fate | None:
    """Return the fate that the node's own state decides; None if it has not been reached."""
    if state is None or state is StepState.PENDING:
        return None
    if state in ACTIVE_STEP_STATES:
        return Fate.ACTIVE
    if is_done(state, outcome):
        return Fate.PASSED_OVER if outcome is Outcome.SKIPPED_BY_BRANCH else Fate.DONE
    return Fate.BLOCKED if state in _UNDONE else None
