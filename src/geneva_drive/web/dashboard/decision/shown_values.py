"""Stored values as people read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def words(value: Any) -> str:
    """Return a stored value as text; typed JSON wraps dates and decimals."""
    if isinstance(value, Mapping) and value.keys() == {"$type", "value"}:
        return words(value["value"])
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
