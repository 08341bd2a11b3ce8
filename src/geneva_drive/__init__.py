"""Durable workflows for Python that live in your own database.

    import geneva_drive as gd

    class Signup(gd.Workflow):
        @gd.step
        def send_welcome(self): ...

The names below are the public API; everything else may change.
"""

from __future__ import annotations

from geneva_drive import errors
from geneva_drive.definition.backoff import exponential, linear
from geneva_drive.definition.conditions import cancel_if
from geneva_drive.definition.heroes import HeroRef, register_hero
from geneva_drive.definition.policies import ExceptionPolicy, Retry
from geneva_drive.definition.step import removed_step, step
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.default import configure, current_drive
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handles import WorkflowHandle
from geneva_drive.drive.step_executions import StepExecution
from geneva_drive.errors import PermanentError, RetryableError
from geneva_drive.limit import Limit
from geneva_drive.states import Outcome, StepState, WorkflowState
from geneva_drive.telemetry import StepChanged, WorkflowChanged

__version__ = "0.1.0"

__all__ = [
    "Drive",
    "ExceptionPolicy",
    "HeroRef",
    "Limit",
    "Outcome",
    "PermanentError",
    "Retry",
    "RetryableError",
    "StepChanged",
    "StepExecution",
    "StepState",
    "Workflow",
    "WorkflowChanged",
    "WorkflowHandle",
    "WorkflowState",
    "cancel_if",
    "configure",
    "current_drive",
    "errors",
    "exponential",
    "linear",
    "register_hero",
    "removed_step",
    "step",
]
