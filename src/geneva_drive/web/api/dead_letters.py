"""Dead letters: workflows that need an operator."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from geneva_drive.drive.search.pages import dead_letters_page
from geneva_drive.drive.views.execution_bodies import dead_letter_body
from geneva_drive.states import DeadLetterState
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import (
    Body,
    CurrentActor,
    CurrentDrive,
    CurrentPlace,
    page_answer,
)
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/dead-letters", tags=["dead letters"])

_CHANGED = answered(answers.DeadLetter, 404, 409)


class Notes(Body):
    """The operator's notes."""

    notes: str | None = Field(default=None, examples=["The address was wrong."])


_NO_NOTES = Notes()  # the body is optional


@router.get(
    "", operation_id="list_dead_letters", responses=answered(answers.ListOf[answers.DeadLetter])
)
def list_dead_letters(
    drive: CurrentDrive, place: CurrentPlace, state: DeadLetterState | None = None
) -> JSONResponse:
    """List dead letters, newest first."""
    return page_answer(dead_letters_page(drive, state, place), dead_letter_body)


@router.get("/{id}", operation_id="get_dead_letter", responses=answered(answers.DeadLetter, 404))
def get_dead_letter(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return a dead letter with its snapshot."""
    return JSONResponse(dead_letter_body(drive.dead_letters.get(id)))


@router.post("/{id}/resolve", operation_id="resolve_dead_letter", responses=_CHANGED)
def resolve(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Notes = _NO_NOTES
) -> JSONResponse:
    """Mark a dead letter as dealt with; its workflow does not change."""
    entry = drive.dead_letters.resolve(id, actor=actor.id, notes=body.notes)
    return JSONResponse(dead_letter_body(entry))


@router.post("/{id}/retry", operation_id="retry_dead_letter", responses=_CHANGED)
def retry(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Notes = _NO_NOTES
) -> JSONResponse:
    """Run the failed step again, or resume the workflow, and resolve the entry."""
    entry = drive.dead_letters.retry(id, actor=actor.id, notes=body.notes)
    return JSONResponse(dead_letter_body(entry))
