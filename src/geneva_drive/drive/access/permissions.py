"""The permissions, and the roles that every installation has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput


class Permission(StrEnum):
    EXECUTION_READ = "execution:read"
    EXECUTION_CREATE = "execution:create"
    EXECUTION_PAUSE = "execution:pause"
    EXECUTION_RESUME = "execution:resume"
    EXECUTION_CANCEL = "execution:cancel"
    STEP_RESOLVE = "step:resolve"
    APPROVAL_READ = "approval:read"
    APPROVAL_DECIDE = "approval:decide"
    EVENT_READ = "event:read"
    EVENT_PUBLISH = "event:publish"
    DEFINITION_READ = "definition:read"
    DEFINITION_DEPLOY = "definition:deploy"
    DEAD_LETTER_READ = "dead_letter:read"
    DEAD_LETTER_RESOLVE = "dead_letter:resolve"
    SCHEDULE_READ = "schedule:read"
    SCHEDULE_MANAGE = "schedule:manage"
    WORKER_READ = "worker:read"
    AUDIT_READ = "audit:read"


def _of(*beginnings: str) -> frozenset[Permission]:
    return frozenset(one for one in Permission if one.startswith(beginnings))


_READING = frozenset(one for one in Permission if one.endswith(":read"))

BUILT_IN_ROLES: Mapping[str, frozenset[Permission]] = MappingProxyType(
    {
        "viewer": _READING,
        "operator": _READING
        | _of("execution:", "step:resolve", "event:publish", "schedule:manage")
        | _of("dead_letter:resolve"),
        "approver": _of("approval:", "execution:read"),
        "admin": frozenset(Permission),
    }
)


def checked_permissions(owner: str, given: object) -> tuple[Permission, ...]:
    """Return permissions without repetition, in the order of the list above."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{owner} must be a list of permissions, got {shown(given)}.")
    found = {_checked(owner, one) for one in given}
    return tuple(one for one in Permission if one in found)


def _checked(owner: str, given: object) -> Permission:
    if isinstance(given, str) and given in {str(one) for one in Permission}:
        return Permission(given)
    close = get_close_matches(given, list(Permission), 1) if isinstance(given, str) else []
    meant = f" Did you mean {str(close[0])!r}?" if close else ""
    raise InvalidInput(
        f"{owner}: there is no permission {shown(given)}.{meant} The permissions are: "
        f"{', '.join(Permission)}."
    )
