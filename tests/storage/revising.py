"""Databases of a former revision, whole or left half way to the next."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

import geneva_drive as gd
from geneva_drive.storage.schema import revisions


@dataclass(frozen=True)
class Revision:
    """A revision, and what makes it of the one before."""

    name: str

    @property
    def former(self) -> str:
        return revisions.REVISIONS[self._place - 1]

    @property
    def _place(self) -> int:
        return revisions.REVISIONS.index(self.name)

    def statements_of(self, drive: gd.Drive) -> tuple[list[str], list[str]]:
        """Give what makes the tables up to the former revision, and what makes this one of them."""
        written = [
            each.strip()
            for each in drive.migration_sql().split(";")
            if each.strip() and each.strip() not in ("BEGIN", "COMMIT")
        ]
        ends = [
            number
            for number, each in enumerate(written, 1)
            if "schema_version" in each and number > 1
        ]
        former, present = ends[self._place - 1], ends[self._place]
        return written[:former], written[former:present]


def run(engine: Engine, statements: list[str]) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
