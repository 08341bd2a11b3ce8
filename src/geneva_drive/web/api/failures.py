"""Failures, in groups of the same type, step and error."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import JSONResponse

from geneva_drive.drive.views.failure_bodies import failure_group_body
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentDrive, list_answer
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/failures", tags=["failures"])

_Since = Annotated[
    str,
    Query(
        min_length=1,
        max_length=64,
        description="How far to look back: a duration such as 24h, or a moment.",
        examples=["24h"],
    ),
]


@router.get(
    "", operation_id="list_failures", responses=answered(answers.ListOf[answers.FailureGroup])
)
def list_failures(drive: CurrentDrive, since: _Since = "24h") -> JSONResponse:
    """List failures in groups, those that need an operator first.

    Workflows that a failure paused are always included.
    """
    groups = drive.failures(since=_since(since))
    return list_answer([failure_group_body(one) for one in groups])


def _since(text: str) -> str | datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return text  # a duration, or a text that the Drive refuses
