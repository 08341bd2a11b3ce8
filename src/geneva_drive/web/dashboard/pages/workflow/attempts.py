"""The attempts at one node, newest first, for the page of a workflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from geneva_drive.display import short_name
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.drive.timeline.traceback_parts import (
    FoldedFrames,
    Frame,
    TracebackPart,
    split_traceback,
)
from geneva_drive.states import StepState, is_done
from geneva_drive.storage.schema.records import Key
from geneva_drive.web.dashboard.shell.words import duration, number, plural
from geneva_drive.worker.identity import name_in

MOST_ATTEMPTS = 50
_LONG_WAIT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of a traceback: a call, some that are folded behind words, or a line of text."""

    text: str
    words: str | None = None
    frame: Frame | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt: its line, and the details folded below it."""

    number: int
    execution_id: Key
    state: StepState
    outcome: str | None
    outcome_words: str
    at: datetime
    words: str
    error_class: str | None
    error_message: str | None
    backtrace: str | None
    traceback: tuple[ShownPart, ...]
    result: str | None
    cursor: str | None
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAttempts:
    """The attempts at one node, with its state."""

    id: str
    name: str
    state: StepState
    attempts: tuple[AttemptView, ...]
    words: str
    child_id: Key | None
    approval_id: Key | None

    def with_words(self, more: str) -> NodeAttempts:
        """Return the same with further words behind its own, if it failed at all."""
        if not more or not any(one.error_class for one in self.attempts):
            return self
        return replace(self, words=", ".join(filter(None, (self.words, more))))


def read_attempts(
    drive: Drive, workflow_id: Key, node_id: str, now: datetime
) -> NodeAttempts | None:
    """Read the latest attempts at a node; None if it has none yet."""
    store = drive.store
    records = store.read(lambda c: store.attempts.of_node(c, workflow_id, node_id, MOST_ATTEMPTS))
    if not records:
        return None
    found = [drive.open_execution(one) for one in records]
    latest = found[0]
    lease = drive.settings.lease
    names = {one.id: one.name for one in store.read(lambda c: store.workers.all(c, lease))}
    return NodeAttempts(
        id=node_id,
        name=latest.step_name,
        state=latest.state,
        attempts=tuple(_views(found, now, names)),
        words=_summary(found),
        child_id=latest.child_id,
        approval_id=latest.approval_id,
    )


def _views(
    found: Sequence[StepExecution], now: datetime, names: Mapping[str, str]
) -> list[AttemptView]:
    return [
        _view(one, earlier, _ran(one, now, names), is_open=one is found[0])
        for one, earlier in zip(found, [*found[1:], None], strict=True)
    ]


def _view(
    one: StepExecution, earlier: StepExecution | None, ran: str, *, is_open: bool
) -> AttemptView:
    return AttemptView(
        number=one.attempt_number,
        execution_id=one.id,
        state=one.state,
        outcome=one.outcome,
        outcome_words=one.outcome_words,
        at=one.started_at or one.finished_at or one.scheduled_for,
        words=", ".join(filter(None, (ran, _waited(one, earlier), _items(one)))),
        error_class=None if one.error_class is None else short_name(one.error_class),
        error_message=one.error_message,
        backtrace=one.error_backtrace or None,
        traceback=tuple(map(_shown, split_traceback(one.error_backtrace))),
        result=one.stored_result,
        cursor=one.stored_cursor,
        is_open=is_open and one.error_class is not None,
    )


def _ran(one: StepExecution, now: datetime, names: Mapping[str, str]) -> str:
    on = f" on {names.get(one.worker_id, name_in(one.worker_id))}" if one.worker_id else ""
    if one.state is StepState.IN_PROGRESS and one.started_at:
        return f"runs for {duration(now - one.started_at)}{on}"
    if one.started_at and one.finished_at:
        return f"ran {duration(one.finished_at - one.started_at)}{on}"
    if one.state is StepState.SCHEDULED and one.scheduled_for > now:
        return f"due in {duration(one.scheduled_for - now)}"
    return ""


def _waited(one: StepExecution, earlier: StepExecution | None) -> str:
    if earlier is None or earlier.finished_at is None or one.started_at is None:
        return ""
    waited = one.started_at - earlier.finished_at
    return f"waited {duration(waited)}" if waited >= _LONG_WAIT else ""


def _items(one: StepExecution) -> str:
    count = one.completed_iterations
    return f"{number(count)} items" if count else ""


def _summary(found: Sequence[StepExecution]) -> str:
    latest = found[0]
    words = plural(latest.attempt_number, "attempt")
    more = latest.attempt_number - len(found)
    if more > 0:
        words += f", the latest {len(found)} shown"
    return words if not is_done(latest.state, latest.outcome) or latest.attempt_number > 1 else ""


def _shown(part: TracebackPart) -> ShownPart:
    if isinstance(part, FoldedFrames):
        return ShownPart("\n".join(map(_frame, part.frames)), part.words)
    if isinstance(part, Frame):
        return ShownPart(_frame(part), frame=part)
    return ShownPart(part.text)


def _frame(frame: Frame) -> str:
    code = f"\n    {frame.code}" if frame.code else ""
    return f"{frame.path}, line {frame.line}, in {frame.function}{code}"
