"""The record of one version of a document."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionRecord:
    """A row of `definitions`: one version of a document."""

    id: Key
    name: str
    version: str
    signature: str
    content_hash: str
    document: str = field(repr=False)
    title: str
    trigger_event: str | None
    is_scheduled: bool
    current_since: datetime
    is_enabled: bool
    created_at: datetime
    deployed_by: str | None
