"""Rows that the database refuses to change: told once, and passed over from then on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.environment import Environment
from geneva_drive.storage.schema.records import Key

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PER_ROUND = 10  # each costs a failed transaction


class Refusals:
    """Remembers for one duty of one worker which rows it was refused."""

    def __init__(self, message: str) -> None:
        self.keys: set[Key] = set()
        self._message = f"{message}; it is passed over: %s"

    def batch(
        self, environment: Environment, at_once: Callable[[], T], one_by_one: Callable[[], T]
    ) -> T:
        """Act on a batch; if it fails because of what is in it, act on each row by itself."""
        try:
            return at_once()
        except (DBAPIError, ChangedUnderLock) as error:
            if not _is_meant(environment, error):
                raise
        return one_by_one()

    def each(self, environment: Environment, keys: Sequence[Key], act: Callable[[Key], int]) -> int:
        """Act on each row by itself, and remember those that are refused; count the changes."""
        changed, most = 0, len(self.keys) + MAX_PER_ROUND
        for key in keys:
            try:
                changed += act(key)
            except (DBAPIError, ChangedUnderLock) as error:
                if not _is_meant(environment, error):
                    raise
                self._note(key, error)
            if len(self.keys) >= most:
                break
        return changed

    def _note(self, key: Key, error: DBAPIError | ChangedUnderLock) -> None:
        self.keys.add(key)
        cause = error.orig if isinstance(error, DBAPIError) else error
        logger.warning(self._message, key, " ".join(str(cause).split()))


def _is_meant(environment: Environment, error: DBAPIError | ChangedUnderLock) -> bool:
    """Say whether an error is about a row, and not about the database's state."""
    return isinstance(error, ChangedUnderLock) or environment.store.database.dialect.blames_value(
        error
    )
