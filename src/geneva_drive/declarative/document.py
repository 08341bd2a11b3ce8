"""The types of a document in its normal form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from geneva_drive.declarative.field_types import (
    DocumentPart,
    EventType,
    Listed,
    Name,
    Span,
    Text,
    Version,
)
from geneva_drive.declarative.steps import ForeachStep, ParallelStep, Step, Steps
from geneva_drive.definition.schedule import Cron, MissedName, OverlapName, cron
from geneva_drive.errors import StepConfigurationError

FORMAT_VERSION = "1"


class Trigger(DocumentPart):
    """What starts workflows of this document."""

    type: Annotated[
        Literal["event", "schedule", "manual"], Field(description="What starts a workflow.")
    ]
    event: Annotated[
        EventType | None, Field(description="The type of the event; it may end in `*`.")
    ] = None
    cron: Annotated[Text | None, Field(description="A cron line, such as 0 9 * * 1-5.")] = None
    timezone: Annotated[Text, Field(description="The time zone of the cron line.")] = "UTC"
    overlap: Annotated[
        OverlapName, Field(description="What happens while the last workflow is ongoing.")
    ] = "skip"
    missed: Annotated[
        MissedName, Field(description="What happens to runs that no worker fired in time.")
    ] = "latest"

    @property
    def schedule(self) -> Cron | None:
        """The schedule, if the trigger is one."""
        if self.type != "schedule" or self.cron is None:
            return None
        return cron(self.cron, timezone=self.timezone, overlap=self.overlap, missed=self.missed)

    def faults(self) -> Iterator[tuple[str, str]]:
        for key, kind in _KEYS_OF_TRIGGERS.items():
            if self.has(key) and self.type != kind:
                yield key, f"belongs to a trigger of type {kind!r}"
        if self.type == "event" and self.event is None:
            yield "event", "is missing"
        if self.type == "schedule" and self.cron is None:
            yield "cron", "is missing"
        if self.type == "schedule":
            yield from _schedule_faults(self.cron, self.timezone)


def _schedule_faults(line: object, timezone: object) -> Iterator[tuple[str, str]]:
    """Yield the faults of a cron line and of a time zone, each checked alone."""
    readings: dict[str, Callable[[], object]] = {
        "cron": lambda: isinstance(line, str) and cron(line),
        "timezone": lambda: isinstance(timezone, str) and cron("* * * * *", timezone=timezone),
    }
    for key, read in readings.items():
        try:
            read()
        except StepConfigurationError as error:
            yield key, error.what.removeprefix("gd.cron: ").rstrip(".")


_KEYS_OF_TRIGGERS = {
    "event": "event",
    "cron": "schedule",
    "timezone": "schedule",
    "overlap": "schedule",
    "missed": "schedule",
}


class ContextTerms(DocumentPart):
    """What the context gets in addition to the values given at the start."""

    load: Annotated[
        Listed[Name],
        Field(description="Loaders registered with @gd.loader; each fills its key."),
    ] = ()


class Document(DocumentPart):
    """A workflow. `validator.parse` creates it, and checks the order of its steps."""

    schema_url: Annotated[
        str | None, Field(alias="$schema", description="For editors; it has no effect.")
    ] = None
    workflow_id: Annotated[Name, Field(description="The type of the workflow.")]
    version: Annotated[Version, Field(description="A running workflow stays on its version.")]
    name: Annotated[Text, Field(description="For people.")]
    description: Annotated[str | None, Field(description="For people.")] = None
    input: Annotated[
        dict[str, Any] | None,
        Field(description="A JSON Schema that the context must fit at the start."),
    ] = None
    trigger: Annotated[Trigger | None, Field(description="What starts it.")] = None
    context: Annotated[ContextTerms, Field(description="What is loaded before the first step.")] = (
        ContextTerms()
    )
    timeout: Annotated[Span | None, Field(description="How long the whole workflow may take.")] = (
        None
    )
    steps: Annotated[Steps, Field(description="The workflow begins with the first one.")]

    @cached_property
    def places(self) -> dict[str, Place]:
        """The place of each step, by its id."""
        return {
            step.id: (siblings, index, parent)
            for siblings, index, step, parent in _walk(self.steps, None)
        }

    def step(self, step_id: str) -> Step:
        """Return a step of any list by its id; raise a `KeyError` if there is none."""
        siblings, index, _ = self.places[step_id]
        return siblings[index]

    def all_steps(self) -> Iterator[Step]:
        """Yield every step, those inside `parallel` and `foreach` after the step they are in."""
        return (self.step(step_id) for step_id in self.places)

    def stored(self) -> dict[str, Any]:
        """Return the normal form as JSON values; equal documents have equal ones."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


Parent = ParallelStep | ForeachStep
# The list that a step is in, its index there, and the step that has the list.
Place = tuple[Sequence[Step], int, Parent | None]


def _walk(
    steps: Sequence[Step], parent: Parent | None
) -> Iterator[tuple[Sequence[Step], int, Step, Parent | None]]:
    for index, step in enumerate(steps):
        yield steps, index, step, parent
        if isinstance(step, ParallelStep | ForeachStep):
            yield from _walk(step.steps, step)
