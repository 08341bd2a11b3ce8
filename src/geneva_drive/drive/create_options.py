"""The keywords of `create`, for its async forms."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from geneva_drive.durations import Duration

if TYPE_CHECKING:
    from geneva_drive.definition.context_type import GivenContext


class CreateOptions(TypedDict, total=False):
    """The keywords of `create` beside `hero` and `session`."""

    allow_multiple: bool
    context: GivenContext | None
    queue: str | None
    priority: int | None
    wait: Duration | datetime | None
    idempotency_key: str | None
    actor: str | None
