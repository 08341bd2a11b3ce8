"""The other workflows that failed as this one did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from geneva_drive.display import short_name
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.failures.failures import FailureGroup, Standing
from geneva_drive.drive.failures.message_pattern import normalised
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.web.dashboard.pages.failures.groups import GroupView
from geneva_drive.web.dashboard.pages.failures.page import recent_groups
from geneva_drive.web.dashboard.pages.workflow.attempts import NodeAttempts
from geneva_drive.web.dashboard.shell.words import number


@dataclass(frozen=True, slots=True)
class AlikeFailures:
    """The group of a failure, for a line below it."""

    group: FailureGroup

    @property
    def words(self) -> str:
        others = self.group.count - 1
        if not others:
            return "No other workflow failed the same way."
        count = number(others) + ("" if self.group.is_count_exact else "+")
        return f"{count} other {'workflow' if others == 1 else 'workflows'} failed the same way."

    @property
    def path(self) -> str:
        key = GroupView(self.group, []).key
        return f"/failures?open={key}#group-{key}"


def alike_failures(
    drive: Drive, workflow: WorkflowHandle[Any], failure: NodeAttempts
) -> AlikeFailures | None:
    """Return the group on whose failure the workflow stands; None if too many others failed."""
    latest = failure.attempts[0]
    failed = (workflow.type, failure.name, latest.error_class, normalised(latest.error_message))
    for one in recent_groups(drive):
        error = None if one.error_class is None else short_name(one.error_class)
        is_alike = (one.type, one.step, error, one.message) == failed
        if is_alike and one.standing is Standing.PAUSED:
            return AlikeFailures(one)
    return None
