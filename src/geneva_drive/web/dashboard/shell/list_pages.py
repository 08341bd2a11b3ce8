"""The addresses of a list that is read a page at a time, newest first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from geneva_drive.drive.search.pages import Page, Place


def list_path(
    path: str, given: Mapping[str, str], without: str | None = None, **changed: str
) -> str:
    """Return the address of a list with these filters."""
    kept = {name: text for name, text in given.items() if name != without}
    query = urlencode({**kept, **changed})
    return f"{path}?{query}" if query else path


def pager_paths(
    path: str, given: Mapping[str, str], page: Page[Any], place: Place
) -> dict[str, str | None]:
    """Return the addresses of a page's neighbours; None where there is none."""
    newer, older = page.newer_cursor, page.next_cursor
    return {
        "newest": None if place.cursor is None else list_path(path, given),
        "newer": None if newer is None else list_path(path, given, newer=newer),
        "older": None if older is None else list_path(path, given, older=older),
    }
