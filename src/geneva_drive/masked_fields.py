"""Masked fields: names of fields whose values are hidden from people and logs."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

MASK = "•••"


def mask(value: Any, names: Collection[str]) -> Any:
    """Return a JSON value with dots in place of the values of these fields.

    >>> mask({"card": "4111", "items": [{"card": 1, "sku": "A1"}]}, {"card"})
    {'card': '•••', 'items': [{'card': '•••', 'sku': 'A1'}]}
    """
    if isinstance(value, dict):
        return {
            key: MASK if key in names and one is not None else mask(one, names)
            for key, one in value.items()
        }
    if isinstance(value, list):
        return [mask(one, names) for one in value]
    return value


def mask_text(stored: str | None, names: Collection[str]) -> str | None:
    """Return stored JSON with dots in place of the values of these fields."""
    if stored is None or not names:
        return stored
    return json.dumps(mask(json.loads(stored), names), ensure_ascii=False)
