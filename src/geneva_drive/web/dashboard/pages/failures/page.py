"""The page of failures: the groups, how many workflows each has, and whether it still grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.failures.failures import FailureGroup
from geneva_drive.drive.timeline.traceback_parts import (
    FoldedFrames,
    Frame,
    split_traceback,
)
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.search.failures import FailureDetail
from geneva_drive.web.dashboard.pages.failures.confirmation import confirmation_of
from geneva_drive.web.dashboard.pages.failures.groups import (
    SPANS,
    GroupView,
    lead_of,
    opened_view,
    view_of,
)
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.messages.parameters import CurrentDrive
from geneva_drive.web.security.gate import permissions_of
from geneva_drive.web.security.route_permissions import BULK_PERMISSIONS

router = APIRouter()

COMMANDS = ("resume", "cancel")
_USUAL = "24h"
_LATEST = 3
_LONGEST = 255  # characters of a filter
_GROUPS: BriefMemory[list[FailureGroup]] = BriefMemory()


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """The filters in the address."""

    last: str
    text: str
    type: str
    bad_last: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> FailureFilter:
        last = given.get("last") or _USUAL
        text, type_name = (given.get(name, "").strip()[:_LONGEST] for name in ("q", "type"))
        if last not in SPANS:
            return cls(_USUAL, text, type_name, last[:_LONGEST])
        return cls(last, text, type_name)

    @property
    def words(self) -> str:
        return SPANS[self.last][0]

    def path(self, **more: str) -> str:
        """Return the address with these filters."""
        span = {} if self.last == _USUAL else {"last": self.last}
        asked = {"q": self.text, "type": self.type, **span, **more}
        given = urlencode({name: value for name, value in asked.items() if value})
        return f"/failures?{given}" if given else "/failures"

    def matches(self, group: FailureGroup) -> bool:
        if self.type and (group.type or "") != self.type:
            return False
        text = self.text.lower()
        return text in f"{group.error_class or ''}: {group.message}".lower()


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """The group whose details are shown."""

    frame: Frame | None  # the last line of the user's code
    folds: list[FoldedFrames]
    latest: list[tuple[FailureDetail, str]]  # with the hero


def recent_groups(drive: Drive, last: str = _USUAL) -> list[FailureGroup]:
    """Return the groups of a span of time; all viewers share them."""
    return _GROUPS.get(drive, lambda: drive.failures(since=last), last)


@router.get("/failures")
def show(request: Request, drive: CurrentDrive) -> Response:
    params = request.query_params
    wanted = FailureFilter.of(params)
    return shown(request, drive, wanted, params.get("open", ""), params.get("confirm"))


def shown(
    request: Request, drive: Drive, wanted: FailureFilter, key: str, confirm: str | None
) -> Response:
    now = drive.clock.now()
    found = recent_groups(drive, wanted.last)
    span = SPANS[wanted.last][1]
    views = [view_of(one, now, span) for one in found if wanted.matches(one)]
    opened = opened_view(views, key)
    allowed = [one for one in COMMANDS if BULK_PERMISSIONS[one] in permissions_of(request)]
    values: dict[str, Any] = {
        "wanted": wanted,
        "spans": SPANS,
        "types": sorted({one.type for one in found if one.type}),
        "views": views,
        "lead": lead_of([one.group for one in views], now),
        "opened": opened,
        "details": None if opened is None else open_group(drive, opened),
        "is_listed_alone": opened is not None and opened.is_listed_alone(found),
        "allowed": allowed,
        "question": None
        if opened is None or confirm not in allowed
        else confirmation_of(drive, opened, confirm),
        "last_known": None if views else _last_known(drive, found),
    }
    return render(request, "pages/failures.html", values, here="failures")


def open_group(drive: Drive, view: GroupView) -> OpenGroup:
    """Read the latest failures of a group, and the line that raised the last one."""
    group, store = view.group, drive.store
    ids = list(group.sample_ids)[:_LATEST]

    def read(connection: Connection) -> tuple[list[FailureDetail], Mapping[Key, WorkflowRecord]]:
        found = store.failures.latest_of(connection, ids, group.step, group.error_class, 20)
        return found, store.workflows.get_many(connection, ids)

    details, workflows = store.read(read)
    newest: dict[Key, FailureDetail] = {}
    for one in details:
        newest.setdefault(one.workflow_id, one)
    parts = split_traceback(details[0].backtrace) if details else []
    frames = [one for one in parts if isinstance(one, Frame)]
    folds = [one for one in parts if isinstance(one, FoldedFrames)]
    heroes = {
        key: f"{one.hero_type} {one.hero_id}" if one.hero_type else ""
        for key, one in workflows.items()
    }
    latest = [(newest[key], heroes.get(key, "")) for key in ids if key in newest]
    return OpenGroup(frames[-1] if frames else None, folds, latest)


def _last_known(drive: Drive, found: Sequence[FailureGroup]) -> tuple[datetime, str] | None:
    """Return the last failure within 30 days, for an empty page."""
    if found:
        return None  # the filters left them out
    earlier = drive.failures(since="30d")
    if not earlier:
        return None
    last = max(earlier, key=lambda one: one.last)
    return last.last, last.type or "dynamic"
