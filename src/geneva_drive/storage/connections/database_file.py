"""Errors that explain why the file of a SQLite database cannot be opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import DatabaseUnavailable, StorageError


class FileNotUsable(DatabaseUnavailable):
    """The URL names the wrong file or folder; there is no server to start."""

    def __init__(self, url: str, cause: str, way_out: str) -> None:
        StorageError.__init__(
            self,
            f"The database at {url} cannot be opened: {cause}. {way_out}, or correct the URL: "
            f"--database, GENEVA_DATABASE_URL, or your app's own.",
        )


@contextmanager
def explain_file_errors(engine: Engine) -> Iterator[None]:
    """Replace "is the server running?" by an error that names the fault of a SQLite file."""
    try:
        yield
    except DatabaseUnavailable as error:
        fault = _fault(engine, error)
        if fault is None:
            raise
        raise fault from error


def _fault(engine: Engine, error: DatabaseUnavailable) -> FileNotUsable | None:
    url = engine.url
    if url.get_backend_name() != "sqlite" or not url.database:
        return None
    folder = Path(url.database).parent
    if not folder.is_dir() and not url.database.startswith("file:"):
        cause, way_out = f"there is no folder {str(folder)!r}", "Create it"
    elif _is_no_database(error):
        cause, way_out = "the file is not a database", "Name another file"
    else:
        return None
    return FileNotUsable(url.render_as_string(), cause, way_out)


def _is_no_database(error: DatabaseUnavailable) -> bool:
    refusal = error.__cause__.orig if isinstance(error.__cause__, DBAPIError) else None
    return getattr(refusal, "sqlite_errorname", None) == "SQLITE_NOTADB"
