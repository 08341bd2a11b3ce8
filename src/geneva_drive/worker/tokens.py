"""Claims that this process is making: sent to the database, and not yet in its memory."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Tokens:
    """The tokens in hand, so that no row which carries one is taken for forgotten."""

    def __init__(self) -> None:
        self._in_hand: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def expecting(self) -> Iterator[str]:
        """Make a token that is in hand until what was claimed under it is in the flights."""
        token = new_token()
        with self._lock:
            self._in_hand.add(token)
        try:
            yield token
        finally:
            with self._lock:
                self._in_hand.discard(token)

    def __contains__(self, token: object) -> bool:
        with self._lock:
            return token in self._in_hand


def new_token() -> str:
    return secrets.token_hex(16)
