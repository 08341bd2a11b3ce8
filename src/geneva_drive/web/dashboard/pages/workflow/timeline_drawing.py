"""The timeline of a workflow as a drawing: a row per node, bars in per cent of the width.

Long spans without a running attempt are folded into bands, labelled with their true length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from geneva_drive.drive.timeline.timeline import BarKind, Timeline, TimelineBar, TimelineRow
from geneva_drive.states import StepState
from geneva_drive.web.dashboard.shell.words import duration

_BAND = 10.0  # per cent of the width for each folded span
_MOST_FOLDED = 60.0  # per cent for all of them
_LEAST = 0.6  # per cent, so that a short attempt can be seen
_WHOLE = 100.0
_BRIEF = 1.0  # seconds
_LABEL = 9.0  # per cent that the label of a moment takes
_PITCH = 18.0  # per cent from one label to the next
_MOST_DRAWN = 60  # rows; a page of more would weigh over 100 kB
_LOOKS = {
    BarKind.RAN: ("done", "ran"),
    BarKind.FAILED: ("failed", "failed"),
    BarKind.RUNNING: ("moving", "runs"),
    BarKind.PERSON: ("person", "waits for a person"),
    BarKind.EVENT: ("rest", "waits for an event"),
    BarKind.CHILD: ("rest", "waits for its child"),
    BarKind.TIMER: ("rest", "waits for its time"),
    BarKind.REATTEMPT: ("quiet", "waits to reattempt"),
    BarKind.PAUSED: ("held", "paused"),
}
_SOLID = (BarKind.RAN, BarKind.FAILED, BarKind.RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBar:
    x: float
    width: float
    hue: str
    shape: str  # solid, outlined or dotted
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRow:
    node: str
    name: str
    state: StepState
    count: int
    bars: tuple[DrawnBar, ...]
    mark: float | None  # where a node was skipped
    took: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class Band:
    x: float
    width: float
    words: str


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineDrawing:
    words: str
    rows: tuple[DrawnRow, ...]
    bands: tuple[Band, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[tuple[str, str, str], ...]  # hue, shape and words
    is_cut: bool


def draw_timeline(found: Timeline, selected: str | None) -> TimelineDrawing | None:
    """Return the drawing; None if nothing has run yet."""
    if not any(row.bars for row in found.rows):
        return None
    scale, bands = _scale(found)
    rows = _drawn(found.rows, selected)
    kinds = dict.fromkeys(bar.kind for row in rows for bar in row.bars)
    folded = ", idle time folded" if bands else ""
    return TimelineDrawing(
        words=f"{duration(found.end - found.start)}{folded}",
        rows=tuple(_row(row, scale, found.end, selected) for row in rows),
        bands=tuple(bands),
        ticks=tuple(_ticks(found, scale)),
        legend=tuple((_LOOKS[kind][0], _shape(kind), _LOOKS[kind][1]) for kind in kinds),
        is_cut=found.is_cut or len(rows) < len(found.rows),
    )


def _drawn(rows: Sequence[TimelineRow], selected: str | None) -> list[TimelineRow]:
    """Return the first rows, and the row of the selected node."""
    later = [row for row in rows[_MOST_DRAWN:] if row.node == selected]
    return [*rows[:_MOST_DRAWN], *later]


Scale = Callable[[datetime], float]


def _scale(found: Timeline) -> tuple[Scale, list[Band]]:
    """Return the position of each moment; all folded spans have the same width."""
    band = min(_BAND, _MOST_FOLDED / len(found.idle)) if found.idle else 0.0
    idle = sum(((end - start) for start, end in found.idle), timedelta())
    busy = max((found.end - found.start - idle).total_seconds(), 1e-6)
    per_second = (_WHOLE - band * len(found.idle)) / busy
    if found.idle and busy < _BRIEF:
        # A step of some milliseconds must not look longer than hours of waiting.
        per_second *= busy / _BRIEF
        band = (_WHOLE - busy * per_second) / len(found.idle)
    moments = [found.start, *(each for span in found.idle for each in span), found.end]
    places, x = [0.0], 0.0
    for number, (start, end) in enumerate(pairwise(moments)):
        x += band if number % 2 else (end - start).total_seconds() * per_second
        places.append(x)

    def scale(at: datetime) -> float:
        for (start, left), (end, right) in pairwise(zip(moments, places, strict=True)):
            if at <= end:
                length = (end - start).total_seconds()
                share = (at - start).total_seconds() / length if length else 0.0
                return round(left + (right - left) * max(0.0, share), 2)
        return _WHOLE

    bands = [Band(scale(start), round(band, 2), duration(end - start)) for start, end in found.idle]
    return scale, bands


def _row(row: TimelineRow, scale: Scale, end: datetime, selected: str | None) -> DrawnRow:
    return DrawnRow(
        node=row.node,
        name=row.name,
        state=row.state,
        count=row.count,
        bars=tuple(_bar(bar, scale, end) for bar in row.bars),
        mark=scale(row.at) if not row.bars and row.at is not None else None,
        took="" if row.took is None else duration(row.took),
        is_selected=row.node == selected,
    )


def _bar(bar: TimelineBar, scale: Scale, end: datetime) -> DrawnBar:
    hue, words = _LOOKS[bar.kind]
    until = bar.end or end
    x = min(scale(bar.start), _WHOLE - _LEAST)
    return DrawnBar(
        x=x,
        width=round(max(scale(until) - x, _LEAST), 2),
        hue=hue,
        shape=_shape(bar.kind),
        words=f"{words} {duration(until - bar.start)}",
    )


def _shape(kind: BarKind) -> str:
    if kind is BarKind.REATTEMPT:
        return "dotted"
    return "solid" if kind in _SOLID else "outlined"


def _ticks(found: Timeline, scale: Scale) -> Iterator[Tick]:
    """Yield the labels of the axis: where each busy span begins, and within the long ones."""
    begins = [found.start, *(end for _, end in found.idle)]
    ends = [*(start for start, _ in found.idle), found.end]
    for begin, end in zip(begins, ends, strict=True):
        width = scale(end) - scale(begin)
        # Labels show whole seconds.
        count = max(1, min(int(width // _PITCH), int((end - begin).total_seconds())))
        for number in range(count if width >= _LABEL else 0):
            at = begin + (end - begin) * number / count
            yield Tick(scale(at), at)
