"""What is found at a Drive's database."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import Check, Thresholds
from geneva_drive.storage.health.health_checks import examine


def findings(drive: gd.Drive, name: str, **thresholds: Any) -> list[Check]:
    """Give the checks of one name."""
    checks = examine(drive.store, drive.settings, drive.clock, Thresholds(**thresholds))
    return [check for check in checks if check.name == name]
