"""Errors about the database itself."""

from __future__ import annotations

from geneva_drive.errors.base import GenevaDriveError


class StorageError(GenevaDriveError):
    """The database cannot be used in its present state."""


class NotMigrated(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} has no GenevaDrive tables yet, or older ones. "
            f"Run `geneva migrate` with the same --app or --database, or call drive.migrate()."
        )


class NotCreated(NotMigrated):
    """The SQLite file does not exist; reading must not create it."""

    def __init__(self, url: str) -> None:
        StorageError.__init__(
            self,
            f"There is no database at {url} yet. Create it with "
            f"`geneva migrate`, with the same --app or --database, or drive.migrate(); or name the "
            f"one you mean: --app package.module, --database URL, or GENEVA_DATABASE_URL.",
        )


class TooNew(StorageError):
    def __init__(self, url: str, revision: str) -> None:
        self.revision = revision
        super().__init__(
            f"The database at {url} was migrated by a newer GenevaDrive (revision {revision!r}). "
            f"Upgrade this process's geneva-drive before it touches the data."
        )


class DatabaseUnavailable(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The database at {url} cannot be reached: {cause} "
            f"Check that it runs and exists, and its address: --database, the app's own, or "
            f"GENEVA_DATABASE_URL."
        )


class DatabaseReadOnly(StorageError):
    def __init__(self, url: str) -> None:
        super().__init__(
            f"The database at {url} is read-only, so nothing was written. Check the file's or "
            f"role's permissions, or connect to the primary server."
        )


class DatabaseBusy(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The database at {url} was busy for too long, and nothing was written: "
            f"{cause} Look for a long transaction, and try again. If it is a session of your own, "
            f"commit it first, or pass it as session=."
        )


class DatabaseFull(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The database at {url} has no space left, and nothing was written: {cause} "
            f"Free space on its disk, or move it to a larger one."
        )


class MissingRights(StorageError):
    def __init__(self, url: str, cause: str) -> None:
        super().__init__(
            f"The role that connects to {url} lacks a right: {cause} GRANT it SELECT, INSERT, "
            f"UPDATE and DELETE on the tables. `geneva doctor` shows which right is missing."
        )
