"""The root of the library's errors."""

from __future__ import annotations


class GenevaDriveError(Exception):
    """The root of every error this library raises on purpose."""
