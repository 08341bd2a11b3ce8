"""Plan the executions of the workers of a batch, or of the items of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome, StepState


def plan_workers(
    planned: NewExecution, workers: Sequence[BatchWorker], running: int
) -> list[NewExecution]:
    """Plan one execution for each worker; those after the first `running` are pending."""
    return [
        replace(
            planned,
            node_id=worker.node_id,
            slot=worker.node_id,
            share=worker.dump(),
            state=StepState.SCHEDULED if place < running else StepState.PENDING,
        )
        for place, worker in enumerate(workers)
    ]


def plan_idle_worker(planned: NewExecution, expansion: str) -> NewExecution:
    """Plan the one worker of a batch that has nothing to do; its body is never called."""
    worker = BatchWorker(expansion=expansion, number=0)
    return replace(
        planned,
        node_id=worker.node_id,
        slot=worker.node_id,
        share=worker.dump(),
        state=StepState.COMPLETED,
        outcome=Outcome.SUCCESS,
        result=typed_json.dump(None),
    )
