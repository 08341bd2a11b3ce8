"""Shell completion of workflow ids."""

from __future__ import annotations

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


def ongoing_ids(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 - Click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """List the ongoing workflows without importing the app: Tab must not run user code."""
    url = context.ensure_object(DriveOptions).database or database_url_from_environment()
    try:
        if _is_missing_file(url):
            return []
        drive = Drive(url)
    except (GenevaDriveError, SQLAlchemyError):
        return []
    try:
        found = drive.workflows(Workflow).ongoing().limit(_MOST).all()
    except (GenevaDriveError, SQLAlchemyError):
        # An error must not appear in the shell's prompt.
        return []
    finally:
        drive.close()
    return [
        CompletionItem(str(workflow.id), help=f"{workflow.type or 'dynamic'} {workflow.state}")
        for workflow in found
        if str(workflow.id).startswith(incomplete)
    ]


def _is_missing_file(url: str) -> bool:
    """True if opening the database would create its file."""
    parsed = make_url(url)
    return parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").exists()
