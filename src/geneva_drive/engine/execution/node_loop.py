"""The loop that a node's body runs in: of a resumable step, or of a batch worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geneva_drive.definition.batches import Batches
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.engine.batches.ranges import require_batches
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops.batch_worker_loop import BatchWorkerLoop
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.errors import InvalidInput


def loop_of(
    environment: Environment,
    claimed: Claimed,
    definition: Definition,
    node: Node,
    early_stops: EarlyStops,
    call: Callable[[Node], Any],
) -> StepLoop | None:
    """Return the loop of a node, if it has one; raises if its cursor cannot be read.

    `call` runs a body: that of a batch tells its workers which query or file it divides.
    """
    workflow, execution, iteration = claimed.workflow, claimed.execution, node.options.iteration
    if iteration is not None:
        return StepLoop(environment, workflow, execution, node, iteration, early_stops)
    if not node.is_worker:
        return None
    # A worker of a stored graph has the terms itself, and no query or file.
    batch = node if node.job is not None else definition.batch_of(node.name)
    return BatchWorkerLoop(
        environment,
        workflow,
        execution,
        node,
        early_stops,
        interval=batch.expansion.checkpoint_interval,
        source=lambda: _divided_by(batch, call),
    )


def _divided_by(batch: Node, call: Callable[[Node], Any]) -> Batches:
    """Call the body of a batch again, for the query or file whose items a worker asks for."""
    if batch.is_worker:
        return Batches()
    if batch.options.transaction:
        raise InvalidInput(
            f"Batch {batch.name!r} has transaction=True, so its workers cannot ask it for their "
            f"items. Remove transaction=True, or pass the items: batch.items(...)."
        )
    return require_batches(batch, call(batch))
