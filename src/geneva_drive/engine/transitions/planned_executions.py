"""Plan the executions that a change inserts, with the hash of their ancestry."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.transitions.batch_workers import graph_node_id
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.engine.transitions.loop_position import LoopPosition
from geneva_drive.states import is_done
from geneva_drive.storage.schema.records import CHAIN_SLOT, ExecutionRecord, WorkflowRecord

_UNKNOWN_SIGNATURE = ""


def plan_node(
    definition: Definition,
    record: WorkflowRecord,
    node: Node,
    at: datetime,
    parents: Iterable[str | None] = (),
) -> NewExecution:
    """Plan a node's execution; `parents` are the ancestry hashes of its dependencies.

    The workflow's own queue and priority override those of the step, which override those of the
    class.
    """
    return NewExecution(
        step_name=node.name,
        node_id=node.name,
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
        node_id=name,
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
        node_id=record.node_id,
        signature=record.signature,
        queue=record.queue,
        priority=record.priority,
        scheduled_for=at,
        position=None if rewind else LoopPosition.of(record),
        share=record.share,
        slot=record.slot,
        ancestry_hash=record.ancestry_hash,
        lane=record.type,
    )


def _priority(record: WorkflowRecord, node: Node, definition: Definition) -> int:
    if record.priority is not None:
        return record.priority
    own = node.options.priority
    return definition.priority if own is None else own


def ancestry_hash(node_id: str, parents: Iterable[str | None]) -> str:
    """Return the hash of a node's id and its parents' hashes.

    A parent without a hash ended before hashes were stored, and is left out.
    """
    known = sorted(filter(None, parents))
    text = ":".join([node_id, *known])
    return _hash(text) if len(known) > 1 else _known_hash(text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# A chain's hashes are equal in all workflows of a class, so they are cached. Joins are not: with
# thousands of parents each, they would fill the cache.
_known_hash = lru_cache(maxsize=4096)(_hash)


def ancestry_mismatches(
    parents: Mapping[str, Sequence[str]], attempts: Mapping[str, Sequence[ExecutionRecord]]
) -> list[ExecutionRecord]:
    """Return executions whose ancestry hash differs from that computed from their parents.

    `attempts` is keyed by the node's present id: a rename may have changed it since the attempt.
    """
    done = {node_id: _hash_of_done(records) for node_id, records in attempts.items()}
    wrong = []
    for node_id, records in attempts.items():
        if node_id not in parents:
            continue  # removed from the graph
        above = [done.get(parent) for parent in parents[node_id]]
        for record in records:
            own = record.step_name if record.is_partition else graph_node_id(record)
            if record.ancestry_hash not in (None, ancestry_hash(own, above)):
                wrong.append(record)
    return wrong


def _hash_of_done(records: Sequence[ExecutionRecord]) -> str | None:
    # All workers of a batch have their node's hash, even if they all failed.
    whole = [
        one
        for one in records
        if one.is_worker or (not one.is_partition and is_done(one.state, one.outcome))
    ]
    latest = max(whole, key=lambda one: (one.created_at, one.attempt_number), default=None)
    return latest.ancestry_hash if latest else None
