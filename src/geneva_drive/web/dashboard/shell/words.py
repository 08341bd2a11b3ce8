"""Numbers, durations and moments as text. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

NO_BREAK = "\N{NO-BREAK SPACE}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MILLION = 1_000_000
_BILLION = 1_000_000_000
_MINUTE = 60
_HOUR = 3600
_DAY = 86_400
_KINDS = re.compile(r"<(number|quoted|id|hex|token)>")  # as `drive.failures()` writes them
_SHORT = 10  # seconds, below which tenths are written


def number(value: float) -> str:
    """Return 12,480 or 1.32 million."""
    for size, word in ((_BILLION, "billion"), (_MILLION, "million")):
        if abs(value) >= size:
            return f"{value / size:.2f}".rstrip("0").rstrip(".") + f"{NO_BREAK}{word}"
    return f"{value:,}"


def plural(count: float, one: str, many: str | None = None) -> str:
    """Return the count with its noun: 1 workflow, 12,480 workflows."""
    return f"{number(count)}{NO_BREAK}{one if count == 1 else many or one + 's'}"


def duration(span: timedelta | float) -> str:
    """Return a duration with at most two units: 4 min 41 s."""
    exact = span.total_seconds() if isinstance(span, timedelta) else float(span)
    exact = abs(exact)
    if exact < 1:
        return f"{round(exact * 1000)}{NO_BREAK}ms"
    if exact < _SHORT:
        return f"{exact:.1f}".removesuffix(".0") + f"{NO_BREAK}s"
    seconds = round(exact)
    if seconds < _MINUTE:
        return f"{seconds}{NO_BREAK}s"
    if seconds < _HOUR:
        return _two(seconds, _MINUTE, "min", 1, "s")
    if seconds < _DAY:
        return _two(seconds, _HOUR, "h", _MINUTE, "min")
    days, rest = divmod(seconds, _DAY)
    hours = rest // _HOUR
    word = "day" if days == 1 else "days"
    is_short = hours and days < 3  # noqa: PLR2004 - later the hours tell nothing
    return f"{days:,}{NO_BREAK}{word}" + (f" {hours}{NO_BREAK}h" if is_short else "")


def time_left(span: timedelta) -> str:
    """Return a duration to the minute, which does not change while the page is read."""
    minutes = span // timedelta(minutes=1)
    return duration(minutes * _MINUTE if minutes else max(1, round(span.total_seconds())))


def _two(seconds: int, large: int, large_word: str, small: int, small_word: str) -> str:
    first, rest = divmod(seconds, large)
    second = rest // small
    words = f"{first}{NO_BREAK}{large_word}"
    return f"{words} {second}{NO_BREAK}{small_word}" if second else words


def moment(at: datetime, now: datetime) -> str:
    """Return a moment in UTC; the script of the page converts it to the viewer's zone."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    ago = (now - at).total_seconds()
    if 0 <= ago < _MINUTE:
        return f"{int(ago)}{NO_BREAK}s ago"
    if 0 <= ago < _HOUR:
        return f"{int(ago // _MINUTE)}{NO_BREAK}min ago"
    if at.date() == now.date():
        return f"{at:%H:%M}"
    return date_and_clock(at, now)


def date_and_clock(at: datetime, now: datetime) -> str:
    """Return 16 Nov 14:33, with the year if it is another one."""
    year = "" if at.year == now.year else f" {at.year}"
    return f"{at.day}{NO_BREAK}{at:%b}{year} {at:%H:%M}"


def clock(at: datetime, now: datetime) -> str:
    """Return 14:33, or 16 Nov 14:33 on another day."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M}" if at.date() == now.date() else date_and_clock(at, now)


def day_and_clock(at: datetime, now: datetime) -> str:
    """Return today 14:33, tomorrow 14:33, or 16 Nov 14:33."""
    at, now = at.astimezone(UTC), now.astimezone(UTC)
    days = (at.date() - now.date()).days
    if days in (0, 1):
        return f"{('today', 'tomorrow')[days]} {at:%H:%M}"
    return date_and_clock(at, now)


def near_clock(at: datetime, now: datetime) -> str:
    """Return 14:33 of today, tomorrow 14:33, or 16 Nov 14:33: what follows "until"."""
    return day_and_clock(at, now).removeprefix("today ")


def hour(at: datetime, now: datetime) -> str:  # noqa: ARG001 - like the others
    """Return 14:33 without the day, for an axis."""
    return f"{at.astimezone(UTC):%H:%M}"


def weekday(at: datetime, now: datetime) -> str:  # noqa: ARG001 - like the others
    """Return Mon, Tue and so on."""
    return f"{at.astimezone(UTC):%a}"


def exact_clock(at: datetime, now: datetime) -> str:
    """Return 14:33:07, or 16 Nov 14:33:07 on another day."""
    return f"{clock(at, now)}:{at.astimezone(UTC):%S}"


def without_kinds(message: str) -> str:
    """Return the message of a failure group, with a sign for each value that differs."""
    return _KINDS.sub(lambda found: "“…”" if found[1] == "quoted" else "#", message)


def state_word(state: str) -> str:
    """Return a state with its underscores as spaces."""
    return str(state).replace("_", " ")


def cut(text: str, longest: int) -> str:
    """Return a text, cut with an ellipsis if it is too long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + ELLIPSIS


def short_path(path: str) -> str:
    """Return a file with the folder it is in: shop/orders.py."""
    return "/".join(re.split(r"[/\\]", path)[-2:])


def initials(name: str) -> str:
    """Return the first letters of the first and the last word."""
    parts = [part for part in name.replace("@", " ").replace(".", " ").split() if part[0].isalnum()]
    chosen = parts if len(parts) < 2 else [parts[0], parts[-1]]  # noqa: PLR2004 - two letters
    return "".join(part[0].upper() for part in chosen)
