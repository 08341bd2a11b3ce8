"""Shell completion of the ids of workflows, approvals and dead letters, and of schedules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.cli.drive_options import DriveOptions
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import GenevaDriveError
from geneva_drive.settings import database_url_from_environment

_MOST = 200

_Found = Iterable[tuple[object, str]]  # ids and their descriptions


def ongoing_ids(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - Click's signature
    incomplete: str,
) -> list[CompletionItem]:
    return _completions(context, incomplete, _ongoing)


def pending_approval_ids(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - Click's signature
    incomplete: str,
) -> list[CompletionItem]:
    return _completions(context, incomplete, _pending)


def dead_letter_ids(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - Click's signature
    incomplete: str,
) -> list[CompletionItem]:
    return _completions(context, incomplete, _dead_letters)


def schedule_types(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - Click's signature
    incomplete: str,
) -> list[CompletionItem]:
    return _completions(context, incomplete, _schedules)


def _ongoing(drive: Drive) -> _Found:
    for workflow in drive.workflows(Workflow).ongoing().limit(_MOST):
        yield workflow.id, f"{workflow.type or 'dynamic'} {workflow.state}"


def _pending(drive: Drive) -> _Found:
    for approval in drive.approvals.pending().limit(_MOST):
        yield approval.id, approval.step_name


def _dead_letters(drive: Drive) -> _Found:
    for entry in drive.dead_letters.list(limit=_MOST):
        yield entry.id, f"workflow {entry.workflow_id} {entry.reason}"


def _schedules(drive: Drive) -> _Found:
    for schedule in drive.schedules.list():
        yield schedule.type, schedule.cron


def _completions(
    context: click.Context, incomplete: str, find: Callable[[Drive], _Found]
) -> list[CompletionItem]:
    """List what `find` yields without importing the app: Tab must not run user code."""
    url = context.ensure_object(DriveOptions).database or database_url_from_environment()
    try:
        if _is_missing_file(url):
            return []
        drive = Drive(url)
    except (GenevaDriveError, SQLAlchemyError):
        return []
    try:
        found = list(find(drive))
    except (GenevaDriveError, SQLAlchemyError):
        # An error must not appear in the shell's prompt.
        return []
    finally:
        drive.close()
    return [
        CompletionItem(str(key), help=words)
        for key, words in found
        if str(key).startswith(incomplete)
    ]


def _is_missing_file(url: str) -> bool:
    """True if opening the database would create its file."""
    parsed = make_url(url)
    return parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").exists()
