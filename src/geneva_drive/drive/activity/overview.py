"""Who acts next on which workflows, for the front page: `drive.overview()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geneva_drive.definition.actor import Actor
from geneva_drive.display import shown
from geneva_drive.drive.activity import (
    operator_overview,
    outside_overview,
    person_overview,
    worker_overview,
)
from geneva_drive.drive.activity.overview_rows import Overview
from geneva_drive.errors import InvalidInput

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


def overview(drive: Drive, actor: Actor | None) -> Overview:
    """Read the four parties in a fixed number of statements."""
    if actor is not None and not isinstance(actor, Actor):
        raise InvalidInput(f"overview(actor=...) must be a gd.Actor, got {shown(actor)}.")
    return Overview(
        person=person_overview.read(drive, actor),
        operator=operator_overview.read(drive),
        outside=outside_overview.read(drive),
        workers=worker_overview.read(drive),
        at=drive.clock.now(),
    )
