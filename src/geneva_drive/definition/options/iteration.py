"""The options that only a resumable step has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict

from geneva_drive.durations import Duration, parse_duration
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
    """How a resumable step goes through its items."""

    max_iterations: int | None = None  # of one run
    max_runtime: timedelta | None = None
    iteration_limit: int | None = None  # of all runs together
    checkpoint_every: int | timedelta = 1
    start: Any = None
    skips_item_errors: bool = False
    max_item_errors: int | None = None
    partitions: int = 1


def parse(given: Mapping[str, Any]) -> Iteration:
    action = given.get("on_item_error", "stop")
    if action not in ("stop", "skip"):
        raise StepConfigurationError(f'on_item_error is "stop" or "skip", not {action!r}.')
    if given.get("max_item_errors") is not None and action != "skip":
        raise StepConfigurationError('max_item_errors goes with on_item_error="skip".')
    return Iteration(
        max_iterations=_count(given, "max_iterations"),
        max_runtime=_span(given, "max_runtime"),
        iteration_limit=_count(given, "iteration_limit"),
        checkpoint_every=_checkpoint_every(given.get("checkpoint_every", 1)),
        start=_start(given.get("start")),
        skips_item_errors=action == "skip",
        max_item_errors=_count(given, "max_item_errors"),
        partitions=_count(given, "partitions") or 1,
    )


def _count(given: Mapping[str, Any], option: str) -> int | None:
    value = given.get(option)
    if value is None or _is_count(value):
        return value
    raise StepConfigurationError(f"{option} is a whole number from 1 up, not {value!r}.")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _span(given: Mapping[str, Any], option: str) -> timedelta | None:
    value = given.get(option)
    if value is None:
        return None
    try:
        span = parse_duration(value)
    except ValueError as error:
        raise StepConfigurationError(f"{option}: {error}.") from None
    if not span:
        raise StepConfigurationError(f"{option}: {value!r} is not longer than zero.")
    return span


def _checkpoint_every(value: object) -> int | timedelta:
    if isinstance(value, timedelta) and value > timedelta(0):
        return value
    if isinstance(value, int) and _is_count(value):
        return value
    raise StepConfigurationError(
        f"checkpoint_every is a number of items from 1 up, or a timedelta, not {value!r}."
    )


def _start(value: object) -> object:
    try:
        typed_json.dump(value, "start")
    except InvalidInput as error:
        raise StepConfigurationError(f"{error}") from None
    return value
