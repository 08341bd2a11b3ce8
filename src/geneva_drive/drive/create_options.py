"""The keywords of `create`, for its async forms."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypedDict

from geneva_drive.durations import Duration


class CreateOptions(TypedDict, total=False):
    """The keywords of `create` beside `hero` and `session`."""

    allow_multiple: bool
    context: Mapping[str, Any] | None
    queue: str | None
    priority: int | None
    wait: Duration | datetime | None
    idempotency_key: str | None
