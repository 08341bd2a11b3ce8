"""Stored values as text for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def words(value: Any) -> str:
    """Return a stored value as text, without the types of typed JSON."""
    if isinstance(value, Mapping) and value.keys() == {"$type", "value"}:
        return words(value["value"])
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
