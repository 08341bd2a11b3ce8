"""The commands that are possible now and that the viewer may give, with their consequences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.storage.schema.records import Key

# By command: the path that it is posted to, its permission and its glyph.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "resume": ("resume", "execution:resume", "play"),
    "resume_at": ("resume-at", "execution:resume", "play"),
    "pause": ("pause", "execution:pause", "bars"),
    "cancel": ("cancel", "execution:cancel", "stop"),
    "skip": ("skip", "step:resolve", "next"),
    "complete_manually": ("complete", "step:resolve", "check"),
    "resolve_manually": ("resolve", "step:resolve", "check"),
    "reattempt": ("reattempt", "step:resolve", "play"),
    "rewind": ("rewind", "step:resolve", "left"),
    "reset_for_retry": ("reset", "step:resolve", "play"),
}
_FIRST = ("resume", "skip", "complete_manually", "pause", "cancel")
_MOST_FIRST = 5
_MOST_FOLDED = 12
_IMMEDIATE = ("resume",)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandView:
    """A button, with the consequence beside it."""

    name: str  # as it is posted
    label: str
    glyph: str
    sentence: str
    node: str | None
    href: str | None  # of its question, or of the page that does it; None posts at once
    is_primary: bool = False
    is_dangerous: bool = False

    @property
    def kind(self) -> str:
        if self.is_dangerous:
            return "danger"
        return "primary" if self.is_primary else "plain"


@dataclass(frozen=True, slots=True)
class CommandPanel:
    """The commands that are shown beside the headline, and those behind a fold."""

    first: tuple[CommandView, ...]
    folded: tuple[CommandView, ...]

    def find(self, name: str, node: str | None) -> CommandView | None:
        """Return the command of an open question; None if it is no longer possible."""
        known = (*self.first, *self.folded)
        return next((one for one in known if (one.name, one.node) == (name, node)), None)


def command_panel(
    workflow_id: Key,
    found: Sequence[Consequence],
    permissions: Collection[str],
    deciders: Mapping[Any, str],
) -> CommandPanel:
    """Return the commands; `deciders`: who else decides the approvals that the viewer may not."""
    views = list(_views(workflow_id, found, permissions, deciders))
    names = {_COMMANDS[command][0] for command in _FIRST}
    asked = {one.node for one in found if one.approval_id is not None}
    chosen: dict[str, CommandView] = {}
    for one in views:
        if one.name == "skip" and one.node in asked:
            continue  # none of the first buttons should skip the decision of a person
        if one.name in names or one.name in ("decide", "publish"):
            chosen.setdefault(one.name, one)
    first = sorted(chosen.values(), key=lambda one: (one.is_dangerous, not one.is_primary))
    first = first[:_MOST_FIRST]
    rest = [one for one in views if one not in first]
    return CommandPanel(tuple(_with_primary(first)), tuple(rest[:_MOST_FOLDED]))


def _views(
    workflow_id: Key,
    found: Sequence[Consequence],
    permissions: Collection[str],
    deciders: Mapping[Any, str],
) -> Iterator[CommandView]:
    decided: set[Any] = set()
    for one in found:
        if one.approval_id is not None:
            if one.approval_id not in decided and "approval:read" in permissions:
                decided.add(one.approval_id)
                yield _decide(one, deciders.get(one.approval_id))
        elif one.command == "publish":
            if "event:publish" in permissions:
                yield _publish(workflow_id, one)
        elif one.command in _COMMANDS and _COMMANDS[one.command][1] in permissions:
            yield _command(workflow_id, one)


def _command(workflow_id: Key, one: Consequence) -> CommandView:
    name, _, glyph = _COMMANDS[one.command]
    asked = {"confirm": name} | ({"on": one.node} if one.node else {})
    is_immediate = one.command in _IMMEDIATE
    return CommandView(
        name=name,
        label=one.label,
        glyph=glyph,
        sentence=one.sentence,
        node=one.node,
        href=None if is_immediate else f"/workflows/{workflow_id}?{urlencode(asked)}#confirm-title",
        is_primary=is_immediate,
        is_dangerous=one.is_dangerous,
    )


def _decide(one: Consequence, decider: str | None) -> CommandView:
    ask = "" if decider is None else f"Ask {decider} to decide. "
    return CommandView(
        name="decide",
        label="Decide…" if decider is None else "See the approval",
        glyph="person-check",
        sentence=f"{ask}{one.label}: {one.sentence}",
        node=one.node,
        href=f"/approvals/{one.approval_id}",
        is_primary=decider is None,
    )


def _publish(workflow_id: Key, one: Consequence) -> CommandView:
    wait = urlencode({"publish": 1, "wait": workflow_id} | ({"on": one.node} if one.node else {}))
    return CommandView(
        name="publish",
        label="Publish…",
        glyph="event",
        sentence=one.sentence,
        node=one.node,
        href=f"/events?{wait}#publish",
    )


def _with_primary(views: Sequence[CommandView]) -> Iterator[CommandView]:
    """Yield the views with one primary button at most."""
    has_primary = False
    for one in views:
        if one.is_primary and has_primary:
            yield CommandView(
                name=one.name,
                label=one.label,
                glyph=one.glyph,
                sentence=one.sentence,
                node=one.node,
                href=one.href,
            )
        else:
            has_primary = has_primary or one.is_primary
            yield one
