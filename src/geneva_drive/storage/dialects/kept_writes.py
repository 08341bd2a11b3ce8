"""Writes with cached statements: a statement that is built and compiled once, and its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Insert, Table, Update, bindparam, insert


@dataclass(frozen=True, slots=True)
class KeptWrite:
    """One statement to execute; equal writes share the statement, which is compiled once."""

    statement: Insert | Update
    values: Mapping[str, Any]


def insertion(table: Table, row: Mapping[str, Any]) -> KeptWrite:
    """Return the write that inserts one row."""
    return KeptWrite(_insert_into(table, tuple(row)), new_values(row))


@lru_cache(maxsize=256)
def _insert_into(table: Table, names: tuple[str, ...]) -> Insert:
    # Inline: the new key is not fetched.
    return insert(table).values(new_places(names)).inline()


def new_places(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a kept statement for the columns that it sets."""
    return {name: bindparam(f"new_{name}") for name in names}


def new_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values for the parameters of `new_places`."""
    return {f"new_{name}": value for name, value in values.items()}
