"""Durable workflows for Python that live in your own database.

    import geneva_drive as gd

    class Signup(gd.Workflow):
        @gd.step
        def send_welcome(self): ...

The names below are the public API; everything else may change.
"""

from __future__ import annotations

import importlib
import typing

from geneva_drive import errors
from geneva_drive.declarative.actions.registry import action, loader, notifier
from geneva_drive.definition import drive_lookup
from geneva_drive.definition.actor import Actor
from geneva_drive.definition.batches import Batches, BatchRange
from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.dynamic.builder import DynamicWorkflow
from geneva_drive.definition.dynamic.jobs import JobNode, job
from geneva_drive.definition.dynamic.templates import template
from geneva_drive.definition.heroes import HeroRef, register_hero
from geneva_drive.definition.nodes.approval import approval
from geneva_drive.definition.nodes.batch import batch
from geneva_drive.definition.nodes.child import child
from geneva_drive.definition.nodes.decision import decision
from geneva_drive.definition.nodes.event_wait import wait_for_callback, wait_for_event
from geneva_drive.definition.nodes.map import map
from geneva_drive.definition.nodes.removed_step import removed_step
from geneva_drive.definition.nodes.resumable_step import resumable_step
from geneva_drive.definition.nodes.step import step
from geneva_drive.definition.nodes.task import task
from geneva_drive.definition.nodes.wait import wait
from geneva_drive.definition.options.backoff import exponential, linear
from geneva_drive.definition.options.conditions import cancel_if
from geneva_drive.definition.options.policies import ExceptionPolicy, Retry
from geneva_drive.definition.options.tolerate import Tolerate
from geneva_drive.definition.schedule import cron
from geneva_drive.definition.waits.approval_decision import ApprovalDecision
from geneva_drive.definition.waits.event import Callback, Event
from geneva_drive.definition.workflow import Workflow
from geneva_drive.errors import PermanentError, RetryableError
from geneva_drive.limit import Limit
from geneva_drive.serialization.serializers import register_serializer
from geneva_drive.states import ApprovalState, FailureStrategy, Outcome, StepState, WorkflowState
from geneva_drive.telemetry import (
    ApprovalChanged,
    BatchChanged,
    EventPublished,
    EventWaitChanged,
    StepChanged,
    StepProgressed,
    StepYielded,
    TelemetryEvent,
    WorkflowChanged,
)

if typing.TYPE_CHECKING:
    from geneva_drive.declarative.actions.apprise_notifier import AppriseNotifier
    from geneva_drive.drive.approvals.approval import Approval
    from geneva_drive.drive.batch_progress import BatchProgress
    from geneva_drive.drive.default_drive import configure, current_drive
    from geneva_drive.drive.drive import Drive
    from geneva_drive.drive.handle.handle import WorkflowHandle
    from geneva_drive.drive.schedules import Schedule, ScheduleRun
    from geneva_drive.drive.step_execution import Checkpoint, FailedItem, StepExecution
    from geneva_drive.engine.batches.batch_results import BatchError, BatchResults
    from geneva_drive.iteration.async_iterable_step import AsyncIterableStep
    from geneva_drive.iteration.batch import AsyncBatch, Batch, CheckpointYield
    from geneva_drive.iteration.iterable_step import IterableStep
    from geneva_drive.iteration.progress import IterationProgress
    from geneva_drive.iteration.sources.records import RecordBatch
    from geneva_drive.web.app import asgi

__version__ = "0.1.0"

__all__ = [
    "PREVIOUS",
    "Actor",
    "AppriseNotifier",
    "Approval",
    "ApprovalChanged",
    "ApprovalDecision",
    "ApprovalState",
    "AsyncBatch",
    "AsyncIterableStep",
    "Batch",
    "BatchChanged",
    "BatchError",
    "BatchProgress",
    "BatchRange",
    "BatchResults",
    "Batches",
    "Callback",
    "Checkpoint",
    "CheckpointYield",
    "Drive",
    "DynamicWorkflow",
    "Event",
    "EventPublished",
    "EventWaitChanged",
    "ExceptionPolicy",
    "FailedItem",
    "FailureStrategy",
    "HeroRef",
    "IterableStep",
    "IterationProgress",
    "JobNode",
    "Limit",
    "Outcome",
    "PermanentError",
    "RecordBatch",
    "Retry",
    "RetryableError",
    "Schedule",
    "ScheduleRun",
    "StepChanged",
    "StepExecution",
    "StepProgressed",
    "StepState",
    "StepYielded",
    "TelemetryEvent",
    "Tolerate",
    "Workflow",
    "WorkflowChanged",
    "WorkflowHandle",
    "WorkflowState",
    "action",
    "approval",
    "asgi",
    "batch",
    "cancel_if",
    "child",
    "configure",
    "cron",
    "current_drive",
    "decision",
    "errors",
    "exponential",
    "job",
    "linear",
    "loader",
    "map",
    "notifier",
    "register_hero",
    "register_serializer",
    "removed_step",
    "resumable_step",
    "step",
    "task",
    "template",
    "wait",
    "wait_for_callback",
    "wait_for_event",
]

# These import SQLAlchemy, which takes longer than everything else. They are loaded on first use, so
# that a module with workflow classes can be imported quickly.
_ON_DEMAND = {
    "AppriseNotifier": "geneva_drive.declarative.actions.apprise_notifier",
    "Approval": "geneva_drive.drive.approvals.approval",
    "AsyncBatch": "geneva_drive.iteration.batch",
    "AsyncIterableStep": "geneva_drive.iteration.async_iterable_step",
    "Batch": "geneva_drive.iteration.batch",
    "BatchError": "geneva_drive.engine.batches.batch_results",
    "BatchResults": "geneva_drive.engine.batches.batch_results",
    "BatchProgress": "geneva_drive.drive.batch_progress",
    "Checkpoint": "geneva_drive.drive.step_execution",
    "CheckpointYield": "geneva_drive.iteration.batch",
    "Drive": "geneva_drive.drive.drive",
    "FailedItem": "geneva_drive.drive.step_execution",
    "IterableStep": "geneva_drive.iteration.iterable_step",
    "IterationProgress": "geneva_drive.iteration.progress",
    "RecordBatch": "geneva_drive.iteration.sources.records",
    "Schedule": "geneva_drive.drive.schedules",
    "ScheduleRun": "geneva_drive.drive.schedules",
    "StepExecution": "geneva_drive.drive.step_execution",
    "WorkflowHandle": "geneva_drive.drive.handle.handle",
    "asgi": "geneva_drive.web.app",
    "configure": "geneva_drive.drive.default_drive",
    "current_drive": "geneva_drive.drive.default_drive",
}


# Type checkers see the imports above; with a __getattr__ they would accept any name.
if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> typing.Any:
        if name not in _ON_DEMAND:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(_ON_DEMAND[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND})


def _default_drive() -> Drive:
    return importlib.import_module(_ON_DEMAND["configure"]).drive_of_classes()  # type: ignore[no-any-return]  # loaded by name


drive_lookup.register(_default_drive)
