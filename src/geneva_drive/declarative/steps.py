"""The types of steps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from geneva_drive.declarative.action_types import Actions
from geneva_drive.declarative.condition import Condition
from geneva_drive.declarative.field_types import (
    DocumentPart,
    EventKey,
    EventType,
    Listed,
    Name,
    PlainText,
    Span,
    Text,
    Variable,
)
from geneva_drive.declarative.templates import is_one_template
from geneva_drive.definition.options.backoff import exponential, linear
from geneva_drive.definition.options.policies import ExceptionPolicy

_FIRST_WAIT = timedelta(seconds=1)
_LONGEST_WAIT = timedelta(hours=1)

Backoff = Literal["constant", "linear", "exponential"]


class RetryTerms(DocumentPart):
    """How often a failed step is reattempted, and after which wait."""

    max: Annotated[int, Field(ge=0, le=1000, description="How many reattempts, at most 1000.")]
    backoff: Annotated[Backoff, Field(description="How the waits grow, up to an hour.")] = (
        "exponential"
    )
    wait: Annotated[Span | None, Field(description="The first wait; one second if not given.")] = (
        None
    )

    @property
    def policy(self) -> ExceptionPolicy:
        """These terms as an exception policy. Waits grow to an hour, unless the first is longer."""
        wait = self.wait or _FIRST_WAIT
        cap = max(wait, _LONGEST_WAIT)
        if self.backoff == "exponential":
            return ExceptionPolicy(
                "reattempt", wait=exponential(base=wait, cap=cap), max_reattempts=self.max
            )
        if self.backoff == "linear":
            return ExceptionPolicy(
                "reattempt",
                wait=linear(base=wait, increment=wait, cap=cap),
                max_reattempts=self.max,
            )
        return ExceptionPolicy("reattempt", wait=wait, max_reattempts=self.max)


class AnyStep(DocumentPart):
    """The keys that every step has."""

    # The keys besides `next` that name another step of the same list.
    targets: ClassVar[tuple[str, ...]] = ()

    id: Annotated[Name, Field(description="Unique in the document.")]
    name: Annotated[Text | None, Field(description="For people.")] = None
    next: Annotated[
        Name | None,
        Field(description="The step that follows, if it is not the next one in the list."),
    ] = None
    retry: Annotated[
        RetryTerms | None, Field(description="How often it is reattempted after a failure.")
    ] = None
    timeout: Annotated[
        Span | None,
        Field(description="How long it may run; of an approval or a wait, how long it waits."),
    ] = None


class ConditionStep(AnyStep):
    """Branch on a condition."""

    targets = ("on_true", "on_false")

    type: Literal["condition"]
    condition: Annotated[Condition, Field(description="What decides between the branches.")]
    on_true: Annotated[Name | None, Field(description="The next step if the condition holds.")] = (
        None
    )
    on_false: Annotated[Name | None, Field(description="The next step if it does not.")] = None


class Requirement(DocumentPart):
    """What must happen before an action step takes effect."""

    type: Annotated[Literal["approval"], Field(description="Always `approval`.")]
    role: Annotated[Text, Field(description="Who decides.")]
    timeout: Annotated[Span | None, Field(description="How long they have.")] = None


class ActionStep(AnyStep):
    """Allow or block, immediately or by the decision of a person; `execute` runs first."""

    targets = ("on_true", "on_false", "on_timeout")

    type: Literal["action"]
    action: Annotated[Literal["allow", "block"], Field(description="The result of the workflow.")]
    reason: Annotated[
        Text | None, Field(description="Why it blocks, or what the person is asked.")
    ] = None
    requires: Annotated[
        Requirement | None, Field(description="The approval that it needs to continue.")
    ] = None
    execute: Annotated[Actions, Field(description="Actions that run first.")] = ()
    on_true: Annotated[Name | None, Field(description="The next step after an approval.")] = None
    on_false: Annotated[Name | None, Field(description="The next step after a rejection.")] = None
    on_timeout: Annotated[Name | None, Field(description="The next step after an expiry.")] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        for key in self.targets:
            if getattr(self, key) is not None and self.requires is None:
                yield key, "belongs to an action with 'requires'; use 'next'"
        asked = self.requires
        if self.on_timeout is not None and isinstance(asked, Requirement) and not asked.timeout:
            yield "on_timeout", "needs 'timeout' in 'requires'"


class ExecuteStep(AnyStep):
    """Run actions, one after the other."""

    type: Literal["execute"]
    execute: Annotated[Actions, Field(min_length=1, description="The actions, in their order.")]


def _facts(value: object) -> object:
    """Convert a list of paths to an object of templates."""
    if isinstance(value, list) and all(isinstance(path, str) for path in value):
        return {path: f"{{{{{path}}}}}" for path in value}
    return value


class ApprovalStep(AnyStep):
    """Wait for the decision of a person with a role."""

    targets = ("on_true", "on_reject", "on_timeout")

    type: Literal["approval"]
    role: Annotated[Text, Field(description="Who decides.")]
    ask: Annotated[Text | None, Field(description="The question.")] = None
    show: Annotated[
        dict[str, Any] | None,
        BeforeValidator(_facts, json_schema_input_type=dict[str, Any] | list[str]),
        Field(description="Facts for the decision: an object, or a list of paths."),
    ] = None
    on_true: Annotated[Name | None, Field(description="The next step after an approval.")] = None
    on_reject: Annotated[Name | None, Field(description="The next step after a rejection.")] = None
    on_timeout: Annotated[Name | None, Field(description="The next step after an expiry.")] = None
    escalate_to: Annotated[
        Text | None, Field(description="The role that is asked once the timeout is over.")
    ] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        for key in ("on_timeout", "escalate_to"):
            if getattr(self, key) is not None and self.timeout is None:
                yield key, "needs 'timeout'"


class WaitStep(AnyStep):
    """Wait for an event, or for a span of time."""

    targets = ("on_timeout",)

    type: Literal["wait"]
    event: Annotated[
        EventType | None, Field(description="The type of the event; it may end in `*`.")
    ] = None
    key: Annotated[EventKey | None, Field(description="The key of the event.")] = None
    match: Annotated[
        Condition | None, Field(description="A condition over the context and `event`.")
    ] = None
    duration: Annotated[Span | None, Field(description="How long it waits.")] = None
    on_timeout: Annotated[
        Name | None,
        Field(description="The next step if no event arrives; without it, the step fails."),
    ] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        if (self.event is None) == (self.duration is None):
            yield "", "a wait needs either 'event' or 'duration'"
        if self.event is None:
            for key in ("key", "match", "timeout", "on_timeout"):
                if getattr(self, key) is not None:
                    yield key, "belongs to a wait for an 'event'"
        elif self.on_timeout is not None and self.timeout is None:
            yield "on_timeout", "needs 'timeout'"


Strategy = Literal["all_must_pass", "any_can_pass", "best_effort"]


class ParallelStep(AnyStep):
    """Run branches at the same time; `strategy` says how many must pass."""

    targets = ("on_false",)

    type: Literal["parallel"]
    steps: Annotated[Steps, Field(description="The branches, each from its first step.")]
    strategy: Annotated[Strategy, Field(description="How many must pass.")] = "all_must_pass"
    on_false: Annotated[Name | None, Field(description="The next step if it does not pass.")] = None


class ForeachStep(AnyStep):
    """Run a list of steps for each item, one item after the other."""

    targets = ("on_false",)

    type: Literal["foreach"]
    items: Annotated[
        Text, Field(description="A template whose value is a list, such as {{lines}}.")
    ]
    item_var: Annotated[Variable, Field(description="The name of the item in templates.")]
    steps: Annotated[Steps, Field(description="What runs for each item.")]
    on_false: Annotated[
        Name | None, Field(description="The next step if an item does not pass.")
    ] = None

    def faults(self) -> Iterator[tuple[str, str]]:
        if not is_one_template(self.items):
            yield "items", "must be a template such as '{{order.lines}}'"


class WorkflowStep(AnyStep):
    """Start another workflow and wait for its end."""

    type: Literal["workflow"]
    workflow: Annotated[PlainText, Field(description="Its `workflow_id`, or a Python class.")]
    context: Annotated[dict[str, Any] | None, Field(description="The context it starts with.")] = (
        None
    )


TYPES: dict[str, type[AnyStep]] = {
    "condition": ConditionStep,
    "action": ActionStep,
    "execute": ExecuteStep,
    "approval": ApprovalStep,
    "wait": WaitStep,
    "parallel": ParallelStep,
    "foreach": ForeachStep,
    "workflow": WorkflowStep,
}


def _tag(value: Any) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return f"<{kind}>" if isinstance(kind, str) and kind in TYPES else None


Step = Annotated[
    Annotated[ConditionStep, Tag("<condition>")]
    | Annotated[ActionStep, Tag("<action>")]
    | Annotated[ExecuteStep, Tag("<execute>")]
    | Annotated[ApprovalStep, Tag("<approval>")]
    | Annotated[WaitStep, Tag("<wait>")]
    | Annotated[ParallelStep, Tag("<parallel>")]
    | Annotated[ForeachStep, Tag("<foreach>")]
    | Annotated[WorkflowStep, Tag("<workflow>")],
    Discriminator(_tag),
]
Steps = Annotated[Listed[Step], Field(min_length=1)]

for _model in (ParallelStep, ForeachStep):
    _model.model_rebuild()
