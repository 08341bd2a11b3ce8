"""Plan new executions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.transitions.ancestry import ancestry_hash
from geneva_drive.engine.transitions.change import CHAIN_SLOT, NewExecution
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord


def plan_node(
    definition: Definition,
    record: WorkflowRecord,
    node: Node,
    at: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan an execution of a node, with the job options that rule for it.

    `parents` are the ancestry hashes of what it depends on.
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
    )


def plan_next_attempt(
    record: ExecutionRecord, at: datetime, *, rewind: bool = False
) -> NewExecution:
    """Plan a further attempt of the node that an execution stood on, from where its loop stood."""
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
    )


def _priority(record: WorkflowRecord, node: Node, definition: Definition) -> int:
    if record.priority is not None:
        return record.priority
    own = node.options.priority
    return definition.priority if own is None else own
