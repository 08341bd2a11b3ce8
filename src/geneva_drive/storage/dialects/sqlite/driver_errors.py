"""The errors of SQLite's drivers, by their messages."""

from __future__ import annotations

from geneva_drive.storage.dialects.trouble import Trouble

DRIVERS = frozenset({"sqlite3", "aiosqlite", "pysqlcipher3"})

_BY_WORDS = {
    "is locked": Trouble.BUSY,
    "interrupted": Trouble.BUSY,
    "readonly": Trouble.READ_ONLY,
    "disk is full": Trouble.FULL,
    "unable to open": Trouble.UNAVAILABLE,
    "not a database": Trouble.UNAVAILABLE,
    "disk I/O error": Trouble.UNAVAILABLE,
    "not authorized": Trouble.MISSING_RIGHTS,
    "no such table": Trouble.NOT_MIGRATED,
    "no such column": Trouble.NOT_MIGRATED,
    "has no column named": Trouble.NOT_MIGRATED,
}


def sort(error: BaseException) -> Trouble:
    text = str(error)
    found = next((kind for words, kind in _BY_WORDS.items() if words in text), None)
    if found is not None:
        return found
    kinds = {kind.__name__ for kind in type(error).__mro__}
    return Trouble.OTHER if "OperationalError" in kinds else Trouble.VALUE
