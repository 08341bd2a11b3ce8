"""The options that only a resumable step has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from geneva_drive import checks
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.serialization import typed_json

ItemErrorActionName = Literal["stop", "skip"]


class IterationOptions(TypedDict, total=False):
    """The keywords of `@gd.resumable_step` beside those of `@gd.step`."""

    max_iterations: int | None
    max_runtime: Duration | None
    iteration_limit: int | None
    checkpoint_every: int | timedelta
    start: Any
    on_item_error: ItemErrorActionName
    max_item_errors: int | None
    partitions: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """How a resumable step loops over its items."""

    max_iterations: int | None = None  # of one run
    max_runtime: timedelta | None = None
    iteration_limit: int | None = None  # of all runs together
    checkpoint_every: int | timedelta = 1
    start: Any = None
    skips_item_errors: bool = False
    max_item_errors: int | None = None
    partitions: int = 1


def parse_iteration(given: Mapping[str, Any]) -> Iteration:
    action = checks.choice(
        "on_item_error",
        given.get("on_item_error", "stop"),
        ("stop", "skip"),
        error=StepConfigurationError,
    )
    if given.get("max_item_errors") is not None and action != "skip":
        raise StepConfigurationError('max_item_errors needs on_item_error="skip".')
    return Iteration(
        max_iterations=_count(given, "max_iterations"),
        max_runtime=_max_runtime(given.get("max_runtime")),
        iteration_limit=_count(given, "iteration_limit"),
        checkpoint_every=_checkpoint_every(given.get("checkpoint_every", 1)),
        start=_start(given.get("start")),
        skips_item_errors=action == "skip",
        max_item_errors=_count(given, "max_item_errors"),
        partitions=_count(given, "partitions") or 1,
    )


def _count(given: Mapping[str, Any], option: str) -> int | None:
    value = given.get(option)
    if value is None:
        return None
    return checks.whole_number(option, value, at_least=1, error=StepConfigurationError)


def _max_runtime(value: object) -> timedelta | None:
    if value is None:
        return None
    return checks.positive_duration("max_runtime", value, error=StepConfigurationError)


def _checkpoint_every(value: object) -> int | timedelta:
    if isinstance(value, timedelta):
        return checks.positive_duration("checkpoint_every", value, error=StepConfigurationError)
    return checks.whole_number(
        "checkpoint_every",
        value,
        at_least=1,
        error=StepConfigurationError,
        hint=" Pass a number of items or a timedelta.",
    )


def _start(value: object) -> object:
    try:
        typed_json.dump(value, "start")
    except InvalidInput as error:
        raise StepConfigurationError(f"{error}") from None
    return value
