"""Dead letters: workflows that need an operator, each with a snapshot of its state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from geneva_drive.drive.activity.person_overview import hero_words
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.pages import Place, dead_letters_page
from geneva_drive.states import DeadLetterState
from geneva_drive.storage.schema.records import DeadLetterRecord, Key, WorkflowRecord
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import Fields, PostedForm
from geneva_drive.web.dashboard.shell.list_pages import pager_paths
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.gate import permissions_of

router = APIRouter()

_PER_PAGE = 50
_QUESTIONS = ("retry", "resolve")
_REASONS = {
    "worker_unavailable": "Its workers died, and its recoveries ran out.",
    "max_retries_exceeded": "Its reattempts ran out.",
    "missing_job": "No worker knows its step.",
    "staleness_timeout": "It made no progress for too long.",
    "resume_timeout": "It was paused for too long.",
    "manual": "A person reported it.",
}


@dataclass(frozen=True, slots=True)
class LetterRow:
    """An entry in the list, with its workflow if it is still stored."""

    entry: DeadLetterRecord
    workflow: WorkflowRecord | None

    @property
    def type(self) -> str:
        return "deleted" if self.workflow is None else self.workflow.type or "dynamic"

    @property
    def hero(self) -> str:
        return "" if self.workflow is None else hero_words(self.workflow) or ""

    @property
    def error(self) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self.entry.snapshot.get("error")
        return found

    @property
    def words(self) -> str:
        """Return why it needs an operator, on one line."""
        error = self.error
        if error is not None:
            return f"{str(error['class']).removeprefix('builtins.')}: {error['message']}"
        return self.entry.notes or _REASONS.get(str(self.entry.reason), "")


@router.get("/dead-letters")
def show_list(
    request: Request,
    drive: CurrentDrive,
    state: Annotated[str | None, Query(max_length=20)] = None,
    older: Annotated[str | None, Query(max_length=64)] = None,
    newer: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    is_resolved = state == str(DeadLetterState.RESOLVED)
    wanted = DeadLetterState.RESOLVED if is_resolved else DeadLetterState.PENDING
    place = Place(newer or older, _PER_PAGE, is_back=bool(newer))
    page = dead_letters_page(drive, wanted, place)
    workflows = _workflows(drive, [one.workflow_id for one in page.items])
    pending = drive.dead_letters.stats()["pending"]
    values = {
        "rows": [LetterRow(one, workflows.get(one.workflow_id)) for one in page.items],
        "is_resolved": is_resolved,
        "lead": _lead(pending),
        **pager_paths("/dead-letters", {"state": str(wanted)}, page, place),
    }
    return render(request, "pages/dead_letters.html", values, here="dead-letters")


@router.get("/dead-letters/{id}")
def show(
    request: Request,
    drive: CurrentDrive,
    id: str,
    confirm: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    entry = drive.dead_letters.get(id)
    row = LetterRow(entry, _workflows(drive, [entry.workflow_id]).get(entry.workflow_id))
    is_pending = entry.state is DeadLetterState.PENDING
    may_act = is_pending and "dead_letter:resolve" in permissions_of(request)
    checkpoint = entry.snapshot.get("checkpoint")
    values = {
        "row": row,
        "entry": entry,
        "is_pending": is_pending,
        "may_act": may_act,
        "may_retry": may_act and row.workflow is not None,
        "confirm": confirm if may_act and confirm in _QUESTIONS else None,
        "why": None if row.workflow is None else drive.open_handle(row.workflow).why(),
        "checkpoint": None if checkpoint is None else json.dumps(checkpoint, indent=2),
        "nodes": list(entry.snapshot.get("nodes", {}).items()),
    }
    return render(request, "pages/dead_letter.html", values, here="dead-letters")


@router.post("/dead-letters/{id}/retry")
def retry(
    request: Request, drive: CurrentDrive, actor: CurrentActor, id: str, form: PostedForm
) -> Response:
    done = FlashMessage("Retried", "The failed step runs again, or the workflow goes on.")
    notes = form.text("notes")
    return _run(
        request, form, id, lambda: drive.dead_letters.retry(id, actor=actor.id, notes=notes), done
    )


@router.post("/dead-letters/{id}/resolve")
def resolve(
    request: Request, drive: CurrentDrive, actor: CurrentActor, id: str, form: PostedForm
) -> Response:
    done = FlashMessage("Resolved", "It needs no operator any more. The workflow stays as it is.")
    notes = form.text("notes")
    return _run(
        request, form, id, lambda: drive.dead_letters.resolve(id, actor=actor.id, notes=notes), done
    )


def _run(
    request: Request, form: Fields, id: str, act: Callable[[], object], done: FlashMessage
) -> Response:
    return command.run(request, form, back=f"/dead-letters/{id}", act=act, done=done)


def _workflows(drive: Drive, ids: list[Key]) -> Mapping[Key, WorkflowRecord]:
    if not ids:
        return {}
    store = drive.store
    return store.read(lambda connection: store.workflows.get_many(connection, ids))


def _lead(pending: int) -> str:
    if not pending:
        return ""
    verb = "needs" if pending == 1 else "need"
    return f"{plural(pending, 'workflow')} {verb} an operator."
