"""The sidebar: links to the pages that the viewer may read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from geneva_drive.web.security.route_permissions import PAGES


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A line of the sidebar."""

    name: str
    path: str
    words: str
    glyph: str
    hue: str | None = None  # of its count; None is grey


@dataclass(frozen=True, slots=True)
class Link:
    """An entry as one viewer sees it."""

    entry: MenuEntry
    is_here: bool
    count: str | None


_FIRST = (
    MenuEntry("now", "/", "Now", "gauge"),
    MenuEntry("workflows", "/workflows", "Workflows", "list"),
    MenuEntry("approvals", "/approvals", "Approvals", "person-check", "person"),
    MenuEntry("failures", "/failures", "Failures", "alert", "failed"),
    MenuEntry("dead-letters", "/dead-letters", "Dead letters", "tray"),
)
_SECOND = (
    MenuEntry("events", "/events", "Events", "event"),
    MenuEntry("schedules", "/schedules", "Schedules", "calendar"),
    MenuEntry("definitions", "/definitions", "Definitions", "branch"),
    MenuEntry("workers", "/workers", "Workers", "worker"),
    MenuEntry("audit", "/audit", "Audit", "document"),
)


def groups(
    here: str | None, permissions: Collection[str], counts: Mapping[str, str]
) -> list[list[Link]]:
    """Return the entries that exist and that this viewer may read, in two groups."""
    return [
        [
            Link(one, one.name == here, counts.get(one.name))
            for one in part
            if PAGES.get(f"GET {one.path}") in permissions
        ]
        for part in (_FIRST, _SECOND)
    ]


def first_page(permissions: Collection[str]) -> str | None:
    """Return the path of the first page that a viewer may read."""
    links = [link for part in groups(None, permissions, {}) for link in part]
    return links[0].entry.path if links else None
