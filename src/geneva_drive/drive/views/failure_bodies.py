"""The JSON bodies of groups of failures."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.failures.failures import FailureGroup
from geneva_drive.drive.views.execution_bodies import key_body, moment_body


def failure_group_body(group: FailureGroup) -> dict[str, Any]:
    return {
        "type": group.type,
        "step": group.step,
        "error_class": group.error_class,
        "message": group.message,
        "standing": group.standing,
        "count": group.count,
        "is_count_exact": group.is_count_exact,
        "first": moment_body(group.first),
        "last": moment_body(group.last),
        "where": group.where,
        "sample_ids": [key_body(one) for one in group.sample_ids],
    }
