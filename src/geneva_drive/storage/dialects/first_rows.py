"""The first rows of a workflow, as each database's `insert` takes and gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables

Row = Mapping[str, Any]
Started = tuple[Key, Key | None]  # the keys of the workflow and of its first execution


def given(tables: Tables, row: Row) -> dict[str, Any]:
    """Give the values of a row, but for those that a column has by itself."""
    [keyed] = tables.keyed([row])
    return {name: value for name, value in keyed.items() if value is not None}
