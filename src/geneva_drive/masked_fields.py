"""Masked fields: values that people and logs do not see, by the name of their field."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

MASK = "•••"


def mask(value: Any, names: Collection[str]) -> Any:
    """Return a JSON value in which every field with one of these names shows dots.

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
    """Return stored JSON in which these fields show dots; without names, the text as it is."""
    if stored is None or not names:
        return stored
    return json.dumps(mask(json.loads(stored), names), ensure_ascii=False)
