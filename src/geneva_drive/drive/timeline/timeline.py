"""The timeline of a workflow: a row per node, with bars for its attempts and waits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from geneva_drive.errors import WorkflowNotFound
from geneva_drive.states import ENDED_WORKFLOW_STATES, Outcome, StepState, WorkflowState
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.search.timelines import Span, WaitSpan, WorkersSpan

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

MOST_ROWS = 200
_MOST_ATTEMPTS = 2_000
_FOLDED_FROM = 0.1  # of the whole time


class BarKind(StrEnum):
    """What a node did in a span of time."""

    RAN = "ran"
    FAILED = "failed"
    RUNNING = "running"
    PERSON = "waits_for_person"
    EVENT = "waits_for_event"
    CHILD = "waits_for_child"
    TIMER = "waits_for_time"
    REATTEMPT = "waits_to_reattempt"
    PAUSED = "paused"


_BUSY = (BarKind.RAN, BarKind.FAILED, BarKind.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBar:
    """A span of time of one attempt; `end` is None while it lasts."""

    kind: BarKind
    start: datetime
    end: datetime | None
    attempt_number: int | None = None
    outcome: Outcome | None = None
    execution_id: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """A node with its bars in their order; one without bars was skipped or has not run."""

    node: str
    name: str
    state: StepState
    count: int  # of workers; 1 for any other node
    at: datetime | None  # when it was skipped or first scheduled
    bars: tuple[TimelineBar, ...]

    @property
    def took(self) -> timedelta | None:
        """The time from the start of its first bar to the end of its last; None while it lasts.

        The time that a failed node is paused does not count.
        """
        own = [bar for bar in self.bars if bar.kind is not BarKind.PAUSED]
        if not own or own[-1].end is None:
            return None
        return own[-1].end - own[0].start


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The rows in the order in which nodes were reached."""

    start: datetime
    end: datetime
    rows: tuple[TimelineRow, ...]
    idle: tuple[tuple[datetime, datetime], ...]  # long spans in which nothing ran, to be folded
    is_cut: bool  # there are more nodes or attempts than are shown


def read_timeline(drive: Drive, workflow_id: Key) -> Timeline:
    """Read the timeline in four statements, with at most the first 200 nodes."""
    store, now = drive.store, drive.clock.now()
    with store.reading() as connection:
        record = store.workflows.get(connection, workflow_id)
        if record is None:
            raise WorkflowNotFound(workflow_id)
        workers = store.timelines.workers(connection, workflow_id)
        spans = store.timelines.spans(
            connection, workflow_id, _MOST_ATTEMPTS + 1, has_workers=bool(workers)
        )
        waits = store.timelines.waits(connection, workflow_id, _MOST_ATTEMPTS)
    return timeline(record, spans, workers, waits, now)


def timeline(
    workflow: WorkflowRecord,
    spans: Sequence[Span],
    workers: Sequence[WorkersSpan],
    waits: Iterable[WaitSpan],
    now: datetime,
) -> Timeline:
    """Return the timeline of these rows."""
    by_execution = {one.execution_id: one for one in waits}
    by_node: dict[str, list[Span]] = {}
    for span in spans[:_MOST_ATTEMPTS]:
        by_node.setdefault(span.node_id, []).append(span)
    of_workers = _of_workers(workers, is_held=workflow.state is WorkflowState.PAUSED)
    known = {row.node for row in of_workers}  # a map has the name of its items
    rows_of_nodes = (
        _row(node, own, by_execution, workflow)
        for node, own in by_node.items()
        if node not in known
    )
    found = [*rows_of_nodes, *of_workers]
    found.sort(key=lambda row: row.bars[0].start if row.bars else row.at or now)
    rows = tuple(found[:MOST_ROWS])
    ends = workflow.finished_at or workflow.canceled_at
    end = ends if workflow.state in ENDED_WORKFLOW_STATES and ends else now
    begun = [bar.start for row in rows for bar in row.bars]
    start = min(begun, default=workflow.created_at)
    return Timeline(
        start=start,
        end=max(end, start),
        rows=rows,
        idle=tuple(_idle(rows, start, max(end, start))),
        is_cut=len(found) > MOST_ROWS or len(spans) > _MOST_ATTEMPTS,
    )


def _row(
    node: str, spans: Sequence[Span], waits: Mapping[Key, WaitSpan], workflow: WorkflowRecord
) -> TimelineRow:
    ordered = sorted(spans, key=lambda one: one.attempt_number)
    bars: list[TimelineBar] = []
    for number, span in enumerate(ordered):
        before = ordered[number - 1] if number else None
        bars += _bars(span, before, waits.get(span.id))
    last = ordered[-1]
    is_held = workflow.state is WorkflowState.PAUSED and last.state is StepState.FAILED
    if is_held and last.finished_at is not None:
        bars.append(TimelineBar(kind=BarKind.PAUSED, start=last.finished_at, end=None))
    return TimelineRow(
        node=node,
        name=last.step_name,
        state=last.state,
        count=1,
        at=last.finished_at or last.created_at,
        bars=tuple(bars),
    )


def _bars(span: Span, before: Span | None, wait: WaitSpan | None) -> Iterator[TimelineBar]:
    """Yield the bars of one attempt: what came before its body, then the body."""
    known = {
        "attempt_number": span.attempt_number,
        "outcome": span.outcome,
        "execution_id": span.id,
    }
    began = span.started_at
    if before is not None and before.finished_at is not None:
        until = wait.began_at if wait is not None else began
        if until is None or until > before.finished_at:
            kind = BarKind.PAUSED if before.outcome in _HELD else BarKind.REATTEMPT
            yield TimelineBar(kind=kind, start=before.finished_at, end=until)
    elif span.scheduled_for > span.created_at and wait is None and span.state is not _SKIPPED:
        yield TimelineBar(kind=BarKind.TIMER, start=span.created_at, end=began or span.finished_at)
    if wait is not None:
        kind = BarKind.PERSON if wait.is_for_person else BarKind.EVENT
        is_over = span.state is not StepState.WAITING
        ended = wait.ended_at or (span.finished_at if is_over else None)
        yield TimelineBar(kind=kind, start=wait.began_at, end=ended, **known)
        began = wait.ended_at if is_over else None
    if began is None or span.state is _SKIPPED:
        return
    if span.child_id is not None:
        yield TimelineBar(kind=BarKind.CHILD, start=began, end=span.finished_at, **known)
        return
    yield TimelineBar(kind=_kind(span.state), start=began, end=span.finished_at, **known)


_SKIPPED = StepState.SKIPPED
_HELD = (Outcome.PAUSED_BY_EXCEPTION, Outcome.PAUSED_BY_FLOW_CONTROL)


def _kind(state: StepState) -> BarKind:
    if state is StepState.FAILED:
        return BarKind.FAILED
    return BarKind.RUNNING if state is StepState.IN_PROGRESS else BarKind.RAN


def _of_workers(found: Sequence[WorkersSpan], *, is_held: bool) -> list[TimelineRow]:
    """Return one row for each batch and map, from its first start to its last end.

    In a paused workflow, workers that are due do not run.
    """
    rows = []
    for name in dict.fromkeys(one.step_name for one in found):
        own = [one for one in found if one.step_name == name]
        states = {one.state for one in own}
        starts = [one.first_started_at for one in own if one.first_started_at]
        ends = [one.last_finished_at for one in own if one.last_finished_at]
        ahead = set() if is_held and ends else {StepState.SCHEDULED, StepState.PENDING}
        is_open = bool(states & {StepState.IN_PROGRESS, *ahead})
        state = next((each for each in _WORST if each in states), StepState.COMPLETED)
        bars: tuple[TimelineBar, ...] = ()
        if starts:
            kind = BarKind.RUNNING if is_open else _kind(state)
            bars = (TimelineBar(kind=kind, start=min(starts), end=None if is_open else max(ends)),)
        count = sum(one.count for one in own)
        rows.append(TimelineRow(node=name, name=name, state=state, count=count, at=None, bars=bars))
    return rows


_WORST = (StepState.FAILED, StepState.IN_PROGRESS, StepState.SCHEDULED, StepState.PENDING)


def _idle(
    rows: Sequence[TimelineRow], start: datetime, end: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the spans longer than a tenth of the whole in which no body ran."""
    least = (end - start) * _FOLDED_FROM
    busy = sorted(
        (bar.start, bar.end or end) for row in rows for bar in row.bars if bar.kind in _BUSY
    )
    reached = start
    for began, ended in [*busy, (end, end)]:
        if began - reached > least:
            yield reached, began
        reached = max(reached, ended)
