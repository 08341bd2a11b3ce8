"""The slots that an execution needs before its body may run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.dynamic.dynamic_workflow import DYNAMIC
from geneva_drive.definition.workflow import Workflow
from geneva_drive.limit import QUEUE_PREFIX, Limit, check_key
from geneva_drive.settings import Settings
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedSlot:
    """A slot of a limit.

    `alike` are columns by which all executions of the limit's key are found, if there are such.
    """

    key: str
    limit: Limit
    alike: Mapping[str, str] | None = None


def wanted_by(
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
    settings: Settings,
) -> tuple[WantedSlot, ...]:
    """Return the slots for the limits of the step and its queue; a callable key is user code."""
    wanted = []
    own = node.options.limit
    if own is not None:
        key = _key_of(own, definition, node, instance)
        by_step = {"type": execution.type, "step_name": execution.step_name}
        # Nodes of a stored graph share their job's limit under different names.
        is_shared = callable(own.key) or definition is DYNAMIC
        wanted.append(WantedSlot(key=key, limit=own, alike=None if is_shared else by_step))
    of_queue = settings.queue_limits.get(execution.queue)
    if of_queue is not None:
        by_queue = {"type": execution.type, "queue": execution.queue}
        wanted.append(
            WantedSlot(key=f"{QUEUE_PREFIX}{execution.queue}", limit=of_queue, alike=by_queue)
        )
    return tuple(wanted)


def _key_of(limit: Limit, definition: Definition, node: Node, instance: Workflow[Any, Any]) -> str:
    match limit.key:
        case None if definition is DYNAMIC and node.job is not None:
            return node.job.name
        case None:
            return f"{definition.type}.{node.name}"
        case str() as key:
            return key
        case name:
            return check_key(f"The limit of step {node.name!r}: key", name(instance))
