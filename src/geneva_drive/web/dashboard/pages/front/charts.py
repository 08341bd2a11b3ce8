"""The charts of the front page: bars up for what was done, bars down for what failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from geneva_drive.drive.activity.activity import ActivityBucket, ActivityChart
from geneva_drive.drive.drive import Drive
from geneva_drive.web.dashboard.shell.words import number

_UP = 44  # pixels of the highest bar
_DOWN = 22
_GAP = 1
_WIDTH = 300  # of the drawing, which the page stretches
_SPANS = (
    ("Last hour", timedelta(hours=1), 60, "hour"),
    ("Last 24 hours", timedelta(hours=24), 48, "hour"),
    ("Last 7 days", timedelta(days=7), 56, "weekday"),
)


@dataclass(frozen=True, slots=True)
class ActivityBar:
    x: float
    width: float
    top: float
    up: float
    down: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing with its numbers."""

    title: str
    done: str
    failed: str
    has_failed: bool
    bars: Sequence[ActivityBar]
    labels: Sequence[datetime]
    form: str  # of the labels
    words: str  # the text for those who do not see the drawing
    width: int = _WIDTH
    height: int = _UP + _DOWN + 1
    base: int = _UP


def read_charts(drive: Drive) -> list[Chart]:
    return [
        _chart(title, drive.activity(last=span, buckets=buckets), form)
        for title, span, buckets, form in _SPANS
    ]


def _chart(title: str, found: ActivityChart, form: str) -> Chart:
    done, failed = number(found.done), number(found.failed)
    busiest = max(found.buckets, key=lambda one: one.done + one.failed)
    words = f"{title}: {done} steps done, {failed} failed."
    if busiest.done + busiest.failed:
        words += (
            f" The most from {busiest.start:%d %b %H:%M} to {busiest.end:%H:%M} UTC: "
            f"{number(busiest.done)} done, {number(busiest.failed)} failed."
        )
    return Chart(
        title=title,
        done=done,
        failed=failed,
        has_failed=found.failed > 0,
        bars=_bars(found.buckets),
        labels=_labels(found.buckets, form),
        form=form,
        words=words,
    )


def _bars(buckets: Sequence[ActivityBucket]) -> list[ActivityBar]:
    most = max([*(one.done for one in buckets), 1])
    deepest = max(one.failed for one in buckets)
    # Both directions have the same scale, unless more failed than there is room for.
    scale = min(_UP / most, _DOWN / deepest if deepest else _UP)
    width = _WIDTH / len(buckets)
    found = []
    for place, one in enumerate(buckets):
        up = round(max(one.done * scale, 1), 1) if one.done else 0
        down = round(max(one.failed * scale, 1), 1) if one.failed else 0
        gap = min(_GAP, width / 4)
        found.append(
            ActivityBar(
                round(place * width, 2), round(width - gap, 2), round(_UP - up, 1), up, down
            )
        )
    return found


def _labels(buckets: Sequence[ActivityBucket], form: str) -> list[datetime]:
    """Return four moments of the axis, which ends now; or seven days, which end today."""
    if form == "hour":
        step = len(buckets) // 4
        return [buckets[place * step].start for place in range(4)]
    step = len(buckets) // 7
    return [buckets[place * step + step - 1].start for place in range(7)]
