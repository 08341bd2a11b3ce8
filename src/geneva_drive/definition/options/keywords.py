"""The keywords of the decorators, for type checkers and for checks at run time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypedDict

from geneva_drive.definition.compiler.dependencies import StepDependencies, TaskDependencies
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.definition.options.approval_terms import TermOptions
from geneva_drive.definition.options.conditions import Test
from geneva_drive.definition.options.event_terms import DeadlineOptions, EventOptions
from geneva_drive.definition.options.expansion import CheckpointOptions, ExpansionOptions
from geneva_drive.definition.options.iteration import IterationOptions
from geneva_drive.definition.options.policies import OnException, Retry, TerminalActionName
from geneva_drive.durations import Duration
from geneva_drive.limit import Limit


class _Running(TypedDict, total=False):
    wait: Duration | None
    on_exception: OnException | None
    max_reattempts: int | None
    terminal_action: TerminalActionName
    retry: Retry | None
    queue: str | None
    priority: int | None


class _Call(TypedDict, total=False):
    limit: Limit | None
    transaction: bool


class _Body(_Call, total=False):
    timeout: Duration | None


class _Result(TypedDict, total=False):
    keep_result: bool


class _Member(TypedDict, total=False):
    skip_if: Test | None
    run_if: Test | None
    renamed_from: str | None


class _ChainMember(_Member, total=False):
    before_step: str | DeclaredNode | None
    after_step: str | DeclaredNode | None
    depends_on: StepDependencies
    also_depends_on: StepDependencies


class _GraphMember(_Member, total=False):
    depends_on: TaskDependencies


class StepOptions(_Running, _Body, _Result, _ChainMember, total=False):
    """The keywords of `@gd.step`."""


class ResumableStepOptions(StepOptions, IterationOptions, total=False):
    """The keywords of `@gd.resumable_step`."""


class TaskOptions(_Running, _Body, _Result, _GraphMember, total=False):
    """The keywords of `@gd.task`."""


class DecisionOptions(_Running, _Body, _GraphMember, total=False):
    """The keywords of `@gd.decision`."""


class ApprovalOptions(_Running, _Call, _ChainMember, TermOptions, total=False):
    """The keywords of `@gd.approval` beside its form, whose type the overloads read."""


class ApprovalOptionsWithForm(ApprovalOptions, total=False):
    """All keywords of `@gd.approval`."""

    form: type | None


class WaitOptions(StepOptions, total=False):
    """The keywords of `@gd.wait`."""

    until: Callable[[Any], datetime]


class EventWaitOptions(_Running, _Call, _ChainMember, EventOptions, total=False):
    """The keywords of `@gd.wait_for_event`."""


class CallbackWaitOptions(_Running, _Call, _ChainMember, DeadlineOptions, total=False):
    """The keywords of `@gd.wait_for_callback`."""


class ChildOptions(_Running, _ChainMember, total=False):
    """The keywords of `gd.child` beside those of the child itself."""


class BatchOptions(_Running, _Body, _ChainMember, ExpansionOptions, CheckpointOptions, total=False):
    """The keywords of `@gd.batch`."""


class WorkerOptions(_Running, _Body, _Member, total=False):
    """The keywords of a batch's `.worker` and `.aggregate`."""


class MapOptions(_Running, _Body, _Result, _ChainMember, ExpansionOptions, total=False):
    """The keywords of `@gd.map`."""


class ChildMapOptions(_Running, _Result, _ChainMember, ExpansionOptions, total=False):
    """The keywords of `gd.map(items, workflow=...)` beside those of the children."""


class JobOptions(_Running, _Body, _Result, total=False):
    """The keywords of `@gd.job` beside its name."""
