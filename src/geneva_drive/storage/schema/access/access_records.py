"""The record of an API key."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKeyRecord:
    """A row of `api_keys`."""

    id: str
    name: str
    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    secret_hash: str = field(repr=False)
    former_hash: str | None = field(default=None, repr=False)
    former_expires_at: datetime | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
