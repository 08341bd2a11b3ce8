"""The options that only waits for events and callbacks have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypedDict

from geneva_drive import checks
from geneva_drive.definition.compiler import call_signatures
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.definition.waits import event_values
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import StepConfigurationError

_ERROR = StepConfigurationError
_MODES = ("any", "all")


class OnEventTimeout(StrEnum):
    """What a wait for an event does at its deadline; its body does not run."""

    PAUSE = "pause"  # the execution fails as timed out
    CONTINUE = "continue"  # with the nodes after it
    CANCEL = "cancel"  # the workflow
    TASK = "task"  # continue with `timeout_task` alone


class DeadlineOptions(TypedDict, total=False):
    """The keywords of waits for events and callbacks about their deadline."""

    timeout: Duration | Callable[[Any], Duration | None] | None
    on_timeout: str | DeclaredNode


class EventOptions(DeadlineOptions, total=False):
    """The keywords of `@gd.wait_for_event` beside those of `@gd.step`."""

    key: object
    match: Callable[[Any, Any], object] | None
    mode: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTerms:
    """Which events a node waits for, and what follows. A callable takes the workflow."""

    patterns: tuple[str, ...]
    key: Any = None
    match: Callable[[Any, Any], object] | None = None
    is_all: bool = False
    timeout: timedelta | Callable[[Any], object] | None = None
    on_timeout: OnEventTimeout = OnEventTimeout.PAUSE
    timeout_task: str | DeclaredNode | None = None  # as written


def parse(types: object, given: Mapping[str, Any]) -> EventTerms:
    """Parse the keywords that only an event wait has."""
    on_timeout, timeout_task = _effect(given.get("on_timeout", "pause"))
    mode = checks.choice("mode", given.get("mode", "any"), _MODES, error=_ERROR)
    match = given.get("match")
    if match is not None:
        if not callable(match):
            raise _ERROR(f"match takes a function of self and the event, not {shown(match)}.")
        call_signatures.check_plain("match", match, "self", "event")
    terms = EventTerms(
        patterns=event_values.patterns("The type", types, error=_ERROR),
        key=_value(given.get("key"), "key", event_values.key),
        match=match,
        is_all=mode == "all",
        timeout=_value(given.get("timeout"), "timeout", checks.positive_duration),
        on_timeout=on_timeout,
        timeout_task=timeout_task,
    )
    if terms.timeout is None and "on_timeout" in given:
        raise _ERROR(
            f"on_timeout={shown(given['on_timeout'])} needs timeout: without a deadline it never "
            f"happens."
        )
    return terms


def _value(value: Any, option: str, check: Callable[..., Any]) -> Any:
    """Return a checked value, or a callable of the workflow that returns one."""
    if value is None:
        return None
    if callable(value) and not isinstance(value, type):
        call_signatures.check_plain(option, value, "self")
        return value
    return check(option, value, error=_ERROR)


def _effect(value: object) -> tuple[OnEventTimeout, str | DeclaredNode | None]:
    words = [word.value for word in OnEventTimeout if word is not OnEventTimeout.TASK]
    if isinstance(value, str) and value in words:
        return OnEventTimeout(str(value)), None
    if isinstance(value, DeclaredNode) or (isinstance(value, str) and value):
        return OnEventTimeout.TASK, value
    listed = ", ".join(map(repr, words))
    raise _ERROR(
        f"on_timeout takes {listed} or a task that depends on the wait, not {shown(value)}."
    )
