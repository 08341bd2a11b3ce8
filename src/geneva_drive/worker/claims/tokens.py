"""Claims that this process is making: sent to the database, and not yet in its memory."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager


class Tokens:
    """The tokens in hand, so that no row which carries one is taken for forgotten."""

    def __init__(self) -> None:
        # Without a lock: of a set of text, each of these is a single step of the interpreter.
        self._in_hand: set[str] = set()

    def expecting(self) -> AbstractContextManager[str]:
        """Make a token that is in hand until what was claimed under it is in the flights."""
        return _Expected(self._in_hand)

    def __contains__(self, token: object) -> bool:
        return token in self._in_hand


class _Expected:
    """A token in hand; made from a generator, it would take far longer."""

    __slots__ = ("_in_hand", "_token")

    def __init__(self, in_hand: set[str]) -> None:
        self._in_hand = in_hand
        self._token = new_token()

    def __enter__(self) -> str:
        self._in_hand.add(self._token)
        return self._token

    def __exit__(self, *_: object) -> None:
        self._in_hand.discard(self._token)


def new_token() -> str:
    return os.urandom(16).hex()
