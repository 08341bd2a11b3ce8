"""The rows of the front page: the link of each, and the note at its right."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from geneva_drive.drive.activity.overview_rows import OverviewGroup, OverviewRow, Tone
from geneva_drive.web.dashboard.pages.failures.groups import kind_of
from geneva_drive.web.dashboard.shell import words

_SOON = timedelta(hours=2)
_DAY = timedelta(days=1)
_WEEK = timedelta(days=6)
_GLYPHS = {
    "failures": "failed",
    "dead_letters": "dead-letter",
    "held": "paused",
    "events": "event",
    "timers": "timer",
    "children": "child",
}
_HUES = {Tone.FAILED: "failed", Tone.HELD: "held", Tone.DONE: "done", Tone.PLAIN: "rest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRow:
    """A row of the front page."""

    key: str
    path: str
    title: str
    about: str
    side: str
    side_hue: str | None
    sentence: str
    glyph: str | None
    hue: str | None
    code: str | None = None


def rows_of(group: OverviewGroup, now: datetime, pages: Collection[str]) -> list[FrontRow]:
    return [_row(group.key, row, now, pages) for row in group.rows]


def _row(kind: str, row: OverviewRow, now: datetime, pages: Collection[str]) -> FrontRow:
    side, side_hue = _side(kind, row, now)
    code, sentence = _split_error(row.sentence) if kind == "failures" else (None, row.sentence)
    return FrontRow(
        key=f"{kind}-{row.title}-{row.about}-{row.workflow_id}-{row.approval_id}",
        path=_path(kind, row, pages),
        title=row.title,
        about=row.about or "",
        side=side,
        side_hue=side_hue,
        sentence=sentence,
        glyph=_glyph(kind, row),
        hue=_HUES[row.tone],
        code=code,
    )


def _glyph(kind: str, row: OverviewRow) -> str | None:
    if kind in ("queues", "workers", "unserved"):
        return "completed" if row.tone is Tone.DONE else "late"
    return _GLYPHS.get(kind)


def _side(kind: str, row: OverviewRow, now: datetime) -> tuple[str, str | None]:
    match kind:
        case "mine" | "others":
            return time_left(row.until, now)
        case "failures":
            return words.number(row.count or 0), "failed"
        case "queues" if row.since is not None:
            return f"{words.time_left(now - row.since)} late", "held"
        case "queues":
            return "on time", None
        case "workers" if row.since is not None:
            return f"silent {words.time_left(now - row.since)}", "held"
        case _ if row.count is not None:
            return words.number(row.count), None
        case _ if row.since is not None:
            return words.time_left(now - row.since), None
        case _:
            return "", None


def time_left(until: datetime | None, now: datetime) -> tuple[str, str | None]:
    """Return how long is left, and the hue of a deadline that is near."""
    if until is None:
        return "", None
    left = until - now
    if left <= timedelta(0):
        return "overdue", "held"
    if left < _DAY:
        return f"{words.time_left(left)} left", "held" if left < _SOON else None
    if left < _WEEK:
        return f"until {until:%A}", None
    return f"until {until.day}{words.NO_BREAK}{until:%b}", None


def _split_error(sentence: str) -> tuple[str, str]:
    """Return the class of an error without its modules, and its message with signs for values."""
    name, _, message = sentence.partition(": ")
    return name.rpartition(".")[2], words.cut(words.without_kinds(message or "No message."), 160)


def _path(kind: str, row: OverviewRow, pages: Collection[str]) -> str:
    """Return the link of a row; without a page of its own, it leads to the list of workflows."""
    if row.approval_id is not None and "GET /approvals/{id}" in pages:
        return f"/approvals/{row.approval_id}"
    if row.workflow_id is not None and kind != "failures" and "GET /workflows/{id}" in pages:
        return f"/workflows/{row.workflow_id}"
    if kind == "failures" and "GET /failures" in pages:
        return "/failures" if row.failure is None else f"/failures?open={kind_of(row.failure)}"
    if kind in ("queues", "workers", "unserved") and "GET /workers" in pages:
        return "/workers"
    return f"/workflows?{urlencode(_filter(kind, row))}"


def _filter(kind: str, row: OverviewRow) -> dict[str, str]:
    match kind:
        case "mine" | "others":
            return {"needs": "person"}
        case "failures" | "held" | "dead_letters":
            return {"needs": "operator", "type": row.title}
        case "events":
            return {"needs": "event"}
        case "timers":
            return {"needs": "timer", "type": row.title, "step": row.about or ""}
        case "children":
            return {"needs": "child"}
        case _:
            return {"needs": "worker"}
