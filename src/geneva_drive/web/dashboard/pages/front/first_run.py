"""The front page before the first workflow: what is ready, and the next command to type."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import Response

from geneva_drive.definition import registry
from geneva_drive.definition.definition import Definition
from geneva_drive.drive.activity.overview_rows import Overview
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.browse import Browsing, browse
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.web.dashboard.shell.page import render

_OWN = "geneva_drive."  # the library's own classes are not the user's
_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The state of the installation, and what it lacks."""

    database: str
    classes: list[str]
    module: str | None  # of the first class
    has_worker: bool

    @property
    def steps_left(self) -> int:
        return [bool(self.classes), self.has_worker, False].count(False)


def is_first_run(drive: Drive, found: Overview) -> bool:
    """True if there has been no workflow yet."""
    if any(one.count.count for one in found.parties[:3]) or found.workers.group("queues"):
        return False
    return not browse(drive, Browsing(SearchFilter()), limit=1).items


def show_first_run(request: Request, drive: Drive) -> Response:
    own = [one for one in registry.definitions() if not _module(one).startswith(_OWN)]
    found = FirstRun(
        database=drive.engine.dialect.name,
        classes=sorted(one.type for one in own if one.type)[:_MOST_NAMED],
        module=_module(own[0]) if own else None,
        has_worker=any(one.is_alive for one in drive.workers),
    )
    return render(request, "pages/first_run.html", {"first": found}, here="now")


def _module(definition: Definition) -> str:
    return definition.workflow_class.__module__
