"""Suggest the known word that is closest to an unknown word."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

_LONGEST = 200  # of a word that is compared


class Suggestions:
    """Finds the closest known word, up to a total number of comparisons.

    A document with thousands of faults is refused quickly, though with fewer hints.
    """

    def __init__(self, comparisons: int = 50_000) -> None:
        self._left = comparisons

    def closest(self, word: str, known: Collection[str]) -> str | None:
        self._left -= len(known)
        if self._left < 0 or len(word) > _LONGEST:
            return None
        return next(iter(get_close_matches(word, known, 1)), None)
