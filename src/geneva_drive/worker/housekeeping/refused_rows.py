"""Rows that the database refuses to change: logged once, and skipped from then on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.environment import Environment
from geneva_drive.storage.dialects.trouble import Trouble
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.service import in_a_line

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PER_ROUND = 10  # each costs a failed transaction


class Refusals:
    """Remembers which rows one duty of one worker could not change."""

    def __init__(self, message: str) -> None:
        self.keys: set[Key] = set()
        self._message = f"{message}; it is skipped: %s"

    def batch(
        self, environment: Environment, at_once: Callable[[], T], one_by_one: Callable[[], T]
    ) -> T:
        """Change a batch; if one of its rows is refused, change them one by one."""
        try:
            return at_once()
        except (DBAPIError, ChangedUnderLock) as error:
            if not _blames_row(environment, error):
                raise
        return one_by_one()

    def each(self, environment: Environment, keys: Sequence[Key], act: Callable[[Key], int]) -> int:
        """Change rows one by one and remember those refused; return the number of changes."""
        changed, most = 0, len(self.keys) + MAX_PER_ROUND
        for key in keys:
            try:
                changed += act(key)
            except (DBAPIError, ChangedUnderLock) as error:
                if not _blames_row(environment, error):
                    raise
                self.keys.add(key)
                logger.warning(self._message, key, in_a_line(error))
            if len(self.keys) >= most:
                break
        return changed


def _blames_row(environment: Environment, error: DBAPIError | ChangedUnderLock) -> bool:
    """True if the error is about a row, and not about the state of the database."""
    if isinstance(error, ChangedUnderLock):
        return True
    return environment.store.database.trouble_of(error) is Trouble.VALUE
