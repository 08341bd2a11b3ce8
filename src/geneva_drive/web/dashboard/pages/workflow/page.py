"""The page of one workflow: its state, the reason, and the commands with their consequences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.definition.nodes.phrases import member_of
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.what_if import what_if
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.gc_pause import without_garbage_collection
from geneva_drive.drive.graph.graph_view import GraphView, view_of_workflow
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.timeline.timeline import read_timeline
from geneva_drive.errors import StepNotDefined, UnknownWorkflowClass
from geneva_drive.states import StepState
from geneva_drive.web.dashboard.pages.workflow import context_facts
from geneva_drive.web.dashboard.pages.workflow.alike_failures import alike_failures
from geneva_drive.web.dashboard.pages.workflow.attempts import NodeAttempts, read_attempts
from geneva_drive.web.dashboard.pages.workflow.audit_trail import trail_of
from geneva_drive.web.dashboard.pages.workflow.batch import BatchView, read_workers_of
from geneva_drive.web.dashboard.pages.workflow.clipboard import copies_of
from geneva_drive.web.dashboard.pages.workflow.command_panel import command_panel
from geneva_drive.web.dashboard.pages.workflow.graph_drawing import draw
from geneva_drive.web.dashboard.pages.workflow.headline import headline_of
from geneva_drive.web.dashboard.pages.workflow.near_misses import near_events
from geneva_drive.web.dashboard.pages.workflow.policy_words import policy_words
from geneva_drive.web.dashboard.pages.workflow.timeline_drawing import draw_timeline
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.messages.parameters import CurrentDrive, find
from geneva_drive.web.security.gate import actor_of, permissions_of

router = APIRouter()

_MOST_CHILDREN = 12
# The states of nodes, from the one that a viewer most likely wants to see.
_TELLING = (
    StepState.FAILED,
    StepState.IN_PROGRESS,
    StepState.WAITING,
    StepState.SUSPENDED,
    StepState.SCHEDULED,
)


@router.get("/workflows/{id}")
def show(
    request: Request,
    drive: CurrentDrive,
    id: str,
    node: str | None = None,
    confirm: str | None = None,
    on: str | None = None,
) -> Response:
    with without_garbage_collection():  # a graph may have 100,000 nodes
        values = _values(request, drive, id, node, confirm, on)
    return render(request, "pages/workflow.html", values, here="workflows")


def _values(
    request: Request,
    drive: Drive,
    workflow_id: str,
    node: str | None,
    confirm: str | None,
    on: str | None,
) -> dict[str, Any]:
    workflow, permissions = find(drive, workflow_id), permissions_of(request)
    why = workflow.why_as_read()  # at once: its executions are read together with it
    now = drive.clock.now()
    view = _view(drive, workflow)
    batches = read_workers_of(drive, workflow, now)
    selected = _selected(drive, workflow, view, batches, node)
    reader = actor_of(request).id
    possible = what_if(drive, workflow.id, reader=reader, view=view)
    deciders = _deciders(request, drive, possible)
    panel = command_panel(workflow.id, possible, permissions, deciders)
    failure = _failure(drive, workflow, view)
    return {
        "workflow": workflow,
        "heading": context_facts.heading_of(workflow),
        "headline": headline_of(
            drive,
            workflow,
            why,
            failure=failure,
            batches=batches,
            possible=possible,
            reader=reader,
        ),
        "failure": failure,
        "alike": None if failure is None else alike_failures(drive, workflow, failure),
        "near_events": near_events(drive, workflow) if "event:read" in permissions else (),
        "panel": panel,
        "question": panel.find(confirm, on) if confirm else None,
        "is_late": confirm is not None and panel.find(confirm, on) is None,
        "graph": None if view is None else draw(view, selected, now),
        "node": None if selected is None else _node(drive, workflow, selected, now),
        "batches": [one for one in batches if one.is_telling],
        "context": context_facts.facts_of(workflow),
        "context_type": context_facts.type_of(workflow),
        "result": context_facts.result_of(workflow),
        "tried_first": context_facts.tried_first(workflow),
        "trail": trail_of(workflow) if "audit:read" in permissions else (),
        "timeline": draw_timeline(read_timeline(drive, workflow.id), selected),
        "children": _children(workflow, view),
        "copies": copies_of(workflow, str(request.base_url).rstrip("/")),
    }


def _node(
    drive: Drive, workflow: WorkflowHandle[Any], node_id: str, now: datetime
) -> NodeAttempts | None:
    found = read_attempts(drive, workflow.id, node_id, now)
    return None if found is None else found.with_words(policy_words(workflow, found.name))


def _deciders(request: Request, drive: Drive, found: Sequence[Consequence]) -> dict[Any, str]:
    """Return who decides the approvals that the viewer may not decide."""
    may = "approval:decide" in permissions_of(request)
    ids = dict.fromkeys(one.approval_id for one in found if one.approval_id is not None)
    asked = [drive.approvals.get(one) for one in ids]
    return {
        one.id: member_of(one.role) if one.role else ", ".join(one.approvers) or "someone else"
        for one in asked
        if not may or one.refusal_of(actor_of(request)) is not None
    }


def _view(drive: Drive, workflow: WorkflowHandle[Any]) -> GraphView | None:
    """Read the graph; None if neither the database nor this process knows it."""
    try:
        return view_of_workflow(drive, workflow.id, is_folded=True)
    except (StepNotDefined, UnknownWorkflowClass):
        return None


def _children(
    workflow: WorkflowHandle[Any], view: GraphView | None
) -> Sequence[WorkflowHandle[Any]]:
    # Looking for children reads all executions, of which a fan-out may have 100,000.
    has_any = view is None or view.outline is None or view.outline.has_children
    return workflow.children[:_MOST_CHILDREN] if has_any else ()


def _selected(
    drive: Drive,
    workflow: WorkflowHandle[Any],
    view: GraphView | None,
    batches: Sequence[BatchView],
    asked: str | None,
) -> str | None:
    if view is None or (asked is not None and _is_known(drive, workflow, view, asked)):
        return asked
    firsts: dict[StepState | None, str] = {}
    for one in view.nodes.values():
        if one.id not in view.counted:
            firsts.setdefault(one.state, one.id)
    for worker in chain.from_iterable(one.workers for one in batches):
        firsts.setdefault(worker.state, worker.id)
    told = next((firsts[state] for state in _TELLING if state in firsts), None)
    if told is not None:
        return told
    ended = [one for one in view.nodes.values() if one.finished_at is not None]
    return max(ended, key=lambda one: (one.finished_at, one.id)).id if ended else None


def _is_known(drive: Drive, workflow: WorkflowHandle[Any], view: GraphView, node_id: str) -> bool:
    """True for a node, and for any worker, also one that the page does not list."""
    if node_id in view.nodes and node_id not in view.counted:
        return True
    store = drive.store
    return bool(store.read(lambda c: store.attempts.of_node(c, workflow.id, node_id, 1)))


def _failure(
    drive: Drive, workflow: WorkflowHandle[Any], view: GraphView | None
) -> NodeAttempts | None:
    """Return the node whose failure paused the workflow."""
    name = workflow.paused_step_name
    if name is None:
        return None
    nodes = [] if view is None else [one.id for one in view.nodes.values() if one.name == name]
    found = read_attempts(drive, workflow.id, nodes[0] if nodes else name, drive.clock.now())
    return found if found and found.attempts[0].error_class else None
