"""The typed error for each kind of database trouble that a person can act on."""

from __future__ import annotations

from typing import assert_never

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from geneva_drive.errors import (
    DatabaseBusy,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    MissingRights,
    NotMigrated,
    StorageError,
)
from geneva_drive.storage.dialects.trouble import Trouble

# Raised for trouble that passes without a change of code: by waiting, or through an operator.
PASSING = (
    DatabaseUnavailable,
    DatabaseReadOnly,
    DatabaseBusy,
    DatabaseFull,
    MissingRights,
    NotMigrated,
)


def typed_error(trouble: Trouble | None, error: BaseException, url: str) -> StorageError | None:
    """Return the error to raise instead of the driver's; None if the driver's says as much."""
    match trouble:
        case None | Trouble.VALUE | Trouble.OTHER:
            return None
        case Trouble.UNAVAILABLE:
            return DatabaseUnavailable(url, in_a_sentence(error))
        case Trouble.READ_ONLY:
            return DatabaseReadOnly(url)
        case Trouble.BUSY:
            return DatabaseBusy(url, in_a_sentence(error))
        case Trouble.FULL:
            return DatabaseFull(url, in_a_sentence(error))
        case Trouble.MISSING_RIGHTS:
            return MissingRights(url, in_a_sentence(error))
        case Trouble.NOT_MIGRATED:
            return NotMigrated(url)
        case _:
            assert_never(trouble)


def in_a_sentence(error: BaseException) -> str:
    match error:
        case DBAPIError(orig=orig):
            words: object = orig
        case SQLAlchemyError(args=[first, *_]):
            words = first  # without SQLAlchemy's link to its documentation
        case _:
            words = error
    text = " ".join(str(words).split())
    return text if text.endswith((".", "?")) else f"{text}."
