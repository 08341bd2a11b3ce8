"""Telemetry events, emitted after each commit, and their log lines."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, assert_never, overload

from geneva_drive.serialization.typed_json import words_of
from geneva_drive.states import (
    ApprovalState,
    EventWaitState,
    ExpansionKind,
    Outcome,
    StepState,
    WorkflowState,
)

logger = logging.getLogger("geneva_drive")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowChanged:
    """A workflow was created (`from_state` is None) or changed its state."""

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    from_state: WorkflowState | None
    to_state: WorkflowState
    at: datetime
    execution_id: Any = None
    step_name: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepChanged:
    """A step execution was scheduled (`from_state` is None) or changed its state."""

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any
    step_name: str
    from_state: StepState | None
    to_state: StepState
    outcome: Outcome | None
    at: datetime
    # The exception, if it was raised in this process.
    error: BaseException | None = None


class ApprovalAction(StrEnum):
    """What happened to a request for approval."""

    REQUESTED = "requested"
    ESCALATED = "escalated"
    DELEGATED = "delegated"
    DECIDED = "decided"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalChanged:
    """A request for approval was opened, decided, delegated or escalated, or it expired.

    Use it to send notifications: `approval_id` finds the request in `drive.approvals`.
    """

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any
    step_name: str
    approval_id: Any
    action: ApprovalAction
    from_state: ApprovalState | None
    to_state: ApprovalState
    at: datetime
    by: str | None = None  # who decided, escalated or delegated; None for a deadline
    to: str | None = None  # the new role, or the delegate
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWaitChanged:
    """A step began to wait for events or a callback (`from_state` is None), or the wait is over."""

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any
    step_name: str
    wait_id: Any
    event_types: tuple[str, ...]  # that it waits for; none for a callback
    key: str | None
    from_state: EventWaitState | None
    to_state: EventWaitState
    at: datetime
    event_number: Any = None  # of the event that ended it
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPublished:
    """An event was published and delivered. This does not concern a single workflow.

    `drive.published_event` finds it by `number`. For callbacks, see `EventWaitChanged`.
    """

    number: Any
    id: str
    source: str
    type: str  # of the event
    key: str | None
    continued: tuple[Any, ...]  # the workflows that continue
    at: datetime
    workflow_id: None = None
    hero_type: None = None
    hero_id: None = None
    execution_id: None = None
    step_name: None = None
    from_state: None = None
    to_state: Literal["published"] = "published"
    outcome: None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchChanged:
    """A batch or map was expanded into workers (`from_state` is None), or has ended.

    `step_name` is the step that its workers belong to. It has ended when the nodes that depend on
    it may run; failed workers are then tolerated, and counted in `failed`.
    """

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any  # that expanded or ended it; None for a command
    step_name: str
    kind: ExpansionKind
    from_state: StepState | None
    to_state: StepState
    total: int
    done: int
    failed: int
    at: datetime
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgressed:
    """A resumable step made progress; emitted at most once a second, after a checkpoint."""

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any
    step_name: str
    cursor: Any
    done: int
    total: int | None
    rate: float | None  # per second, over all runs
    remaining: timedelta | None
    at: datetime
    unit: str = "items"  # of `done`, `total` and `rate`; "bytes" for a CSV file without a total


@dataclass(frozen=True, slots=True, kw_only=True)
class StepYielded:
    """A batch worker yielded; its checkpoint is saved, and its body is called again."""

    workflow_id: Any
    type: str
    hero_type: str | None
    hero_id: str | None
    execution_id: Any
    step_name: str
    node_id: str
    cursor: Any
    items_processed: int
    at: datetime


TelemetryEvent = (
    WorkflowChanged
    | StepChanged
    | ApprovalChanged
    | EventWaitChanged
    | EventPublished
    | BatchChanged
)
_OfWorkflow = WorkflowChanged | StepChanged | ApprovalChanged | EventWaitChanged | BatchChanged
Subscriber = Callable[[TelemetryEvent], object]
ProgressEvent = StepProgressed | StepYielded
ProgressSubscriber = Callable[[TelemetryEvent | ProgressEvent], object]


class Events:
    """The subscribers; they are called in the process that committed."""

    def __init__(self) -> None:
        self._subscribers: tuple[Subscriber, ...] = ()
        self._of_progress: tuple[ProgressSubscriber, ...] = ()  # a part of them
        self._lock = threading.Lock()

    @overload
    def subscribe(
        self, subscriber: ProgressSubscriber, *, progress: Literal[True]
    ) -> Callable[[], None]: ...
    @overload
    def subscribe(
        self, subscriber: Subscriber, *, progress: Literal[False] = False
    ) -> Callable[[], None]: ...
    def subscribe(self, subscriber: Any, *, progress: bool = False) -> Callable[[], None]:
        """Call `subscriber` with every event from now on; return a function that unsubscribes it.

        With `progress`, it also gets a `StepProgressed` each second for every running loop, and a
        `StepYielded` for each yield of a batch worker.

        >>> import geneva_drive as gd
        >>> drive = gd.Drive("sqlite:///doctest.db")
        >>> unsubscribe = drive.events.subscribe(lambda event: print(event.to_state))
        >>> unsubscribe()
        """
        with self._lock:
            self._subscribers += (subscriber,)
            if progress:
                self._of_progress += (subscriber,)

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = tuple(s for s in self._subscribers if s is not subscriber)
                self._of_progress = tuple(s for s in self._of_progress if s is not subscriber)

        return unsubscribe

    @property
    def wanted(self) -> bool:
        """True if there is a subscriber or the log is enabled; otherwise no event need be built."""
        return bool(self._subscribers) or logger.isEnabledFor(logging.INFO)

    @property
    def progress_wanted(self) -> bool:
        """True if there is a subscriber of progress."""
        return bool(self._of_progress)

    def emit(self, events: Iterable[TelemetryEvent]) -> None:
        for event in events:
            log_event(event)
            for subscriber in self._subscribers:
                _notify(subscriber, event)

    def emit_progress(self, make: Callable[[], ProgressEvent]) -> None:
        """Call the subscribers of progress; without any, `make` is not called."""
        if self._of_progress:
            event = make()
            for subscriber in self._of_progress:
                _notify(subscriber, event)


def _notify(subscriber: Callable[[Any], object], event: TelemetryEvent | ProgressEvent) -> None:
    try:
        subscriber(event)
    except (Exception, SystemExit):
        # The change is committed, so a failing subscriber must not stop the engine.
        logger.exception("Subscriber %r failed on %r", subscriber, event)


def log_event(event: TelemetryEvent) -> None:
    level = logging.INFO
    if isinstance(event, StepChanged) and event.to_state is StepState.FAILED:
        level = logging.WARNING
    if not logger.isEnabledFor(level):
        return
    if isinstance(event, EventPublished):
        _log_published(event)
        return
    ids = identifiers(
        type_name=event.type,
        workflow_id=event.workflow_id,
        hero=(event.hero_type, event.hero_id),
        step_name=event.step_name,
        execution_id=event.execution_id,
    )
    what, cause = _words_of(event)
    if isinstance(event, StepChanged) and event.error is not None:
        cause += f": {type(event.error).__name__}: {words_of(event.error)}"
    logger.log(
        level,
        "%s %s %s -> %s%s",
        prefix(ids),
        what,
        event.from_state or "new",
        event.to_state,
        cause,
        extra=ids,
    )


def _log_published(event: EventPublished) -> None:
    key = f" with key {event.key!r}" if event.key else ""
    count = len(event.continued)
    logger.info(
        "Event %s (%s from %s%s) is published; %s",
        event.number,
        event.type,
        event.source,
        key,
        f"{count} workflows continue" if count != 1 else "1 workflow continues",
        extra={"geneva_event": event.number, "geneva_event_type": event.type},
    )


def _words_of(event: _OfWorkflow) -> tuple[str, str]:
    """Return the subject of an event, and its reason."""
    match event:
        case ApprovalChanged(action=action, by=by, to=to, approval_id=approval_id):
            by_whom, to_whom = (f" by {by}" if by else ""), (f" to {to}" if to else "")
            return f"approval {approval_id}", f" ({action}{by_whom}{to_whom})"
        case EventWaitChanged(event_types=types, key=key, event_number=number):
            about = f"wait for {' or '.join(types) or 'a callback'}{f' / {key}' if key else ''}"
            return about, f" (event {number})" if number is not None else ""
        case BatchChanged(kind=kind, total=total, done=done, failed=failed):
            lost = f", {failed} failed" if failed else ""
            return kind, f" ({done} of {total} workers done{lost})"
        case StepChanged(outcome=outcome):
            return "step", f" ({outcome})" if outcome else ""
        case WorkflowChanged(outcome=outcome):
            return "workflow", f" ({outcome})" if outcome else ""
        case _:
            assert_never(event)


def identifiers(
    *,
    type_name: str,
    workflow_id: Any,
    hero: tuple[str | None, str | None],
    step_name: str | None,
    execution_id: Any,
) -> dict[str, Any]:
    """Return the ids under the keys that every log line of this library uses."""
    return {
        "geneva_type": type_name or "dynamic",
        "geneva_workflow_id": workflow_id,
        "geneva_hero_type": hero[0],
        "geneva_hero_id": hero[1],
        "geneva_step_name": step_name,
        "geneva_execution_id": execution_id,
    }


def prefix(ids: dict[str, Any]) -> str:
    words = [f"{ids['geneva_type']} workflow={ids['geneva_workflow_id']}"]
    if ids["geneva_hero_type"]:
        words.append(f"hero={ids['geneva_hero_type']}/{ids['geneva_hero_id']}")
    if ids["geneva_step_name"]:
        words.append(f"step={ids['geneva_step_name']} execution={ids['geneva_execution_id']}")
    return f"[{' '.join(words)}]"


class StepLogger(logging.LoggerAdapter[logging.Logger]):
    """The logger at `self.logger` in a step, which adds the ids to every line."""

    def __init__(self, name: str, ids: dict[str, Any]) -> None:
        super().__init__(logging.getLogger(name), ids)
        # logging formats the whole line, so a % in a hero's id would be a placeholder.
        self._prefix = prefix(ids).replace("%", "_")

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        extra = kwargs.get("extra") or {}
        kwargs["extra"] = {**(self.extra or {}), **extra}
        return f"{self._prefix} {msg}", kwargs
