"""Checks of the arguments that the helpers share."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition import drive_lookup
from geneva_drive.display import shown
from geneva_drive.drive.default_drive import current_drive
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput


def require_handle(caller: str, workflow: Any) -> None:
    if not isinstance(workflow, WorkflowHandle):
        raise InvalidInput(
            f"{caller}() needs a workflow handle, as create() and find() return it, got "
            f"{shown(workflow)}."
        )


def drive_or_default(caller: str, drive: Drive | None) -> Drive:
    return current_drive() if drive is None else drive_lookup.require(f"{caller}(drive=...)", drive)
