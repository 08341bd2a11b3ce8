"""The rows that start a workflow: its own, and its first execution's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

Row = Mapping[str, Any]
Started = tuple[Key, Key | None]  # the keys of the workflow and of its first execution


def given(tables: Tables, row: Row) -> dict[str, Any]:
    """Return a row's values with its key, without NULLs: those are the columns' defaults."""
    [keyed] = tables.keyed([row])
    return {name: value for name, value in keyed.items() if value is not None}
