"""The views of groups of failures. Pure."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from markupsafe import Markup, escape

from geneva_drive.drive.failures.failures import FailureGroup, Standing
from geneva_drive.web.dashboard.shell.words import number, plural

SPANS = {
    "1h": ("hour", timedelta(hours=1)),
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}
_BARS = 36
_WIDTH, _HEIGHT = 180, 32  # of the bars
_GROWS = timedelta(minutes=1)  # without a failure, unless they are further apart
_KINDS = re.compile(r"&lt;(number|quoted|id|hex|token)&gt;")  # as `drive.failures()` writes them
_SIGNS = {"quoted": "text"}


@dataclass(frozen=True, slots=True)
class FailureBar:
    """Failures within a part of the span."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group in the list."""

    group: FailureGroup
    bars: list[FailureBar]

    @property
    def kind(self) -> str:
        """The name of the failure in an address, whatever the standing of its workflows."""
        return kind_of(self.group.where)

    @property
    def key(self) -> str:
        """The name of the group in an address."""
        return f"{self.kind}-{self.group.standing}"

    @property
    def count(self) -> str:
        group = self.group
        return number(group.count) + ("" if group.is_count_exact else "+")

    @property
    def message(self) -> Markup:
        """The message, with a sign for each value that differs."""
        safe = str(escape(self.group.message or "No message."))
        # The text is escaped already; the signs are HTML.
        return Markup(_KINDS.sub(_sign, safe))

    @property
    def is_held(self) -> bool:
        return self.group.standing is Standing.PAUSED

    @property
    def is_open(self) -> bool:
        """True if its workflows have not ended, so that they can be canceled."""
        return self.group.standing is not Standing.ENDED

    @property
    def bar_words(self) -> str:
        return f"{plural(len(self.group.moments), 'failure')} over the time that is shown"

    @property
    def command_line(self) -> str:
        """The shell command that resumes the group, one workflow first."""
        pairs = (shlex.quote(f"{name}={value}") for name, value in self.group.where.items())
        return f"geneva bulk resume {' '.join(f'--where {pair}' for pair in pairs)} --first 1"

    def is_listed_alone(self, others: Iterable[FailureGroup]) -> bool:
        """True if `list_path` leads to the workflows of this group only."""
        alike = [one for one in others if _named(one) == _named(self.group)]
        return self.is_held and len(alike) == 1

    @property
    def list_path(self) -> str:
        """The list of its workflows, as far as filters of the list can tell them apart."""
        group = self.group
        # Workflows that continued are at another step by now.
        step = group.step if self.is_held else None
        given = {"type": group.type, "step": step, "error_class": group.error_class}
        state = {"state": "paused"} if self.is_held else {"state": "all"}
        return f"/workflows?{urlencode({**state, **{k: v for k, v in given.items() if v}})}"


def kind_of(where: Mapping[str, str]) -> str:
    """Return the name of a failure in an address, from the `where` of its group."""
    named = {key: value for key, value in where.items() if key != "standing"}
    text = json.dumps(named, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def view_of(group: FailureGroup, now: datetime, span: timedelta) -> GroupView:
    return GroupView(group, _bars(group.moments, now, span))


def _named(group: FailureGroup) -> tuple[str | None, ...]:
    return group.type, group.step, group.error_class, group.standing


def _sign(found: re.Match[str]) -> str:
    return f'<span class="code-tag">{_SIGNS.get(found[1], "#")}</span>'


def _bars(moments: Sequence[datetime], now: datetime, span: timedelta) -> list[FailureBar]:
    counts = [0] * _BARS
    for at in moments:
        place = int((at - (now - span)) / span * _BARS)
        if place >= 0:
            counts[min(place, _BARS - 1)] += 1
    most = max(counts) or 1
    pitch = _WIDTH / _BARS
    return [
        FailureBar(round(place * pitch, 2), _HEIGHT - height, round(pitch - 1.2, 2), height)
        for place, count in enumerate(counts)
        if count
        for height in [max(round(count / most * _HEIGHT, 1), 2)]
    ]


def opened_view(views: Sequence[GroupView], key: str) -> GroupView | None:
    """Return the group of an address, or the same failure if its standing has changed since."""
    exact = (one for one in views if one.key == key)
    alike = (one for one in views if one.kind == key.partition("-")[0])
    return next(exact, None) or next(alike, None)


def _still_grows(group: FailureGroup, now: datetime) -> bool:
    apart = (group.last - group.first) / max(len(group.moments) - 1, 1)
    return now - group.last < max(_GROWS, apart)


def lead_of(groups: Sequence[FailureGroup], now: datetime) -> list[tuple[str, bool]]:
    """Return the first sentence in parts; the strong part is about what needs an operator."""
    held = [one for one in groups if one.standing is Standing.PAUSED]
    others = len(groups) - len(held)
    rest = ""
    if others:
        verb = "needs" if others == 1 else "need"
        rest = f"{plural(others, 'more group' if held else 'group')} {verb} nothing from you."
    if not held:
        return [("Nothing waits for an operator. ", True), (rest, False)]
    total = sum(one.count for one in held)
    is_exact = all(one.is_count_exact for one in held)
    count = number(total) + ("" if is_exact else "+")
    verb = "group holds" if len(held) == 1 else "groups hold"
    noun = "workflow" if total == 1 else "workflows"
    largest = held[0]
    subject = "It" if len(held) == 1 else "The larger" if len(held) == 2 else "The largest"  # noqa: PLR2004
    grows = " and still grows" if _still_grows(largest, now) else ""
    began = f"{subject} began at {largest.first:%Y-%m-%d %H:%M:%S} UTC{grows}. "
    return [(f"{number(len(held))} {verb} {count} {noun}. ", True), (began + rest, False)]
