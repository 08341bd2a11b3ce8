"""Lists what each command that is possible now would do to a workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.drive.consequences import operator_commands
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.continuations import continuations
from geneva_drive.drive.consequences.decisions import Ballot, decisions
from geneva_drive.drive.consequences.operator_commands import (
    passable,
    passages,
    repairable,
    repairs,
)
from geneva_drive.drive.consequences.publications import publications
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.drive.graph.graph_view import GraphView, view_of_workflow
from geneva_drive.drive.search.many_executions import may_expand
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.graphs.node_states import node_statuses
from geneva_drive.errors import WorkflowNotFound
from geneva_drive.states import ENDED_WORKFLOW_STATES, ApprovalState, WorkflowState
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

MOST_NODES = 5  # whose commands are listed if the caller names no node


def what_if(
    drive: Drive,
    workflow_id: Key,
    *,
    node: str | None = None,
    reader: str | None = None,
    view: GraphView | None = None,
) -> list[Consequence]:
    """Return the consequences of all commands, those on single nodes for the first few nodes.

    `node` selects the commands on one node. `reader` is a person whose vote is included in the
    counts. `view` is the graph, if the caller has just read it: reading a huge one takes half the
    time.
    """
    store, now = drive.store, drive.clock.now()
    with store.reading() as connection:
        record = store.workflows.get(connection, workflow_id)
        if record is None:
            raise WorkflowNotFound(workflow_id)
        if record.state in ENDED_WORKFLOW_STATES:
            return []
        wanted = ApprovalFilter(state=ApprovalState.PENDING, workflow_id=workflow_id)
        pending = store.approvals.page(connection, wanted=wanted, limit=MOST_NODES)
        people = store.approval_people.of_approvals(connection, [one.id for one in pending])
        waits = store.event_waits.open_of(connection, workflow_id)[:MOST_NODES]
    open_waits = [one for one in waits if one.expires_at is None or one.expires_at > now]
    ballots = [
        Ballot(
            approval=one,
            people=people[one.id],
            reader=reader,
            holds_afterwards=not drive.settings.auto_resume_after_approval,
        )
        for one in pending
        if one.expires_at is None or one.expires_at > now
    ]
    situation = read_situation(drive, record, view)
    if situation is None:
        return list(_without_class(record))
    found = list(consequences(situation, ballots, open_waits, node))
    return [one for one in found if node is None or one.node in (None, node)]


def read_situation(
    drive: Drive, record: WorkflowRecord, view: GraphView | None = None
) -> Situation | None:
    """Read the graph of a workflow with its states; None if this process lacks its class."""
    definition = definition_lookup.definition_of(drive.store, record)
    if definition is None and not record.has_graph:
        return None
    if view is None:
        view = view_of_workflow(drive, record.id, workers=False)
    store = drive.store
    expansions = {}
    if may_expand(record):
        expansions = store.read(lambda connection: store.expansions.of(connection, record.id))
    is_dynamic = record.type == DYNAMIC_TYPE
    found = Situation(
        workflow=record,
        view=view,
        definition=None if is_dynamic else definition,
        expansions={key: one for key, one in expansions.items() if key in view.nodes},
        is_chain=not record.has_graph and definition is not None and not definition.is_graph,
    )
    chosen = {} if found.is_chain else _chosen(drive, found)
    return replace(found, chosen=chosen) if chosen else found


def _chosen(drive: Drive, situation: Situation) -> dict[str, tuple[str, ...]]:
    """Read the choices of nodes that are done, where they still matter."""
    decided, store = situation.decided, drive.store
    if not decided:
        return {}
    asked = [(situation.workflow.id, each) for each in decided]
    attempts = store.read(lambda connection: store.attempts.latest(connection, asked))
    statuses = node_statuses(situation.definition, situation.graph, attempts)
    own = {each: statuses[each].chosen if each in statuses else None for each in decided}
    taken = {
        each: situation.branches_after_skip(each) if found is None else found
        for each, found in own.items()
    }
    return {each: found for each, found in taken.items() if found is not None}


def consequences(
    situation: Situation,
    ballots: Sequence[Ballot] = (),
    waits: Sequence[EventWaitRecord] = (),
    node: str | None = None,
) -> Iterator[Consequence]:
    """Yield the consequences: decisions and events first, the end of the workflow last."""
    yield from chain.from_iterable(decisions(situation, each) for each in ballots)
    yield from chain.from_iterable(publications(situation, each) for each in waits)
    resumed = operator_commands.resume(situation)
    if resumed is not None:
        yield resumed
    yield from passages(situation, _selected(passable(situation), node))
    yield from repairs(situation, _selected(repairable(situation), node))
    yield from continuations(situation)
    for found in (operator_commands.pause(situation), operator_commands.cancel(situation)):
        if found is not None:
            yield found


def _selected(nodes: Sequence[str], node: str | None) -> Sequence[str]:
    if node is None:
        return nodes[:MOST_NODES]
    return [node] if node in nodes else []


def _without_class(record: WorkflowRecord) -> Iterator[Consequence]:
    """Yield the commands that need no class; without one, the nodes are unknown."""
    if record.state is WorkflowState.READY and record.requested is None:
        sentence = "Nothing starts until the workflow is resumed."
        yield Consequence(command="pause", node=None, label="Pause…", sentence=sentence)
    yield Consequence(
        command="cancel",
        node=None,
        label="Cancel…",
        sentence="Ends the workflow. What has run is not undone.",
        is_dangerous=True,
    )
