"""Plan the executions that a change inserts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.transitions.ancestry import ancestry_hash
from geneva_drive.engine.transitions.change import CHAIN_SLOT, NewExecution
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord

_UNKNOWN_SIGNATURE = ""


def plan_node(
    definition: Definition,
    record: WorkflowRecord,
    node: Node,
    at: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan a node's execution; `parents` are the ancestry hashes of what it depends on.

    For queue and priority, the workflow's own value comes before the step's, and that before the
    class's.
    """
    return NewExecution(
        step_name=node.name,
        signature=definition.signature,
        queue=record.queue or node.options.queue or definition.queue,
        priority=_priority(record, node, definition),
        scheduled_for=at,
        is_limited=node.options.limit is not None,
        slot=node.name if definition.is_graph else CHAIN_SLOT,
        ancestry_hash=ancestry_hash(node.name, parents),
        lane=definition.lane,
    )


def plan_unknown_node(
    definition: Definition,
    record: WorkflowRecord,
    name: str,
    at: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan a node that this process's code does not have.

    The worker that claims it finds out whether the step is newer than its code or was removed. A
    removed step pauses the workflow with a reason.
    """
    return NewExecution(
        step_name=name,
        signature=_UNKNOWN_SIGNATURE,
        queue=record.queue or definition.queue,
        priority=definition.priority if record.priority is None else record.priority,
        scheduled_for=at,
        ancestry_hash=ancestry_hash(name, parents),
        lane=definition.lane,
    )


def plan_next_attempt(
    record: ExecutionRecord, at: datetime, *, rewind: bool = False
) -> NewExecution:
    """Plan another attempt at an execution's node, from its cursor or, with `rewind`, the start."""
    return NewExecution(
        step_name=record.step_name,
        signature=record.signature,
        queue=record.queue,
        priority=record.priority,
        scheduled_for=at,
        position=None if rewind else LoopPosition.of(record),
        share=record.share,
        node_id=record.node_id,
        slot=record.slot,
        ancestry_hash=record.ancestry_hash,
        lane=record.type,
    )


def _priority(record: WorkflowRecord, node: Node, definition: Definition) -> int:
    if record.priority is not None:
        return record.priority
    own = node.options.priority
    return definition.priority if own is None else own
