"""A check that every index that our statements rely on exists and is valid."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sqlalchemy import Connection, Index, Table, UniqueConstraint, inspect
from sqlalchemy.engine import Inspector
from sqlalchemy.schema import AddConstraint, CreateIndex

from geneva_drive.storage.dialects.health_check import Check, ok, problem
from geneva_drive.storage.schema.tables import Tables


def indexes(connection: Connection, tables: Tables, invalid: Collection[str]) -> Iterator[Check]:
    """Compare the declared indexes with those of the database, by name."""
    inspector = inspect(connection)
    quote = connection.dialect.identifier_preparer.quote
    is_whole = True
    for table in tables.metadata.sorted_tables:
        present = _present(inspector, table)
        for declared in _declared(table):
            if declared.name in invalid:
                is_whole = False
                yield problem(
                    "indexes",
                    f"{declared.name} on {table.name} is not valid: it is written and never read.",
                    f"REINDEX INDEX CONCURRENTLY {quote(str(declared.name))};",
                )
            if declared.name not in present:
                is_whole = False
                yield problem(
                    "indexes",
                    f"{declared.name} is missing on {table.name}.",
                    f"Create it: {_ddl(declared, connection)};",
                )
    if is_whole:
        yield ok("indexes", "All are there.")


def _declared(table: Table) -> list[Index | UniqueConstraint]:
    constraints = [c for c in table.constraints if isinstance(c, UniqueConstraint)]
    return sorted([*table.indexes, *constraints], key=lambda each: str(each.name))


def _present(inspector: Inspector, table: Table) -> set[str | None]:
    found = [*inspector.get_indexes(table.name), *inspector.get_unique_constraints(table.name)]
    return {each["name"] for each in found}


def _ddl(declared: Index | UniqueConstraint, connection: Connection) -> str:
    ddl = CreateIndex(declared) if isinstance(declared, Index) else AddConstraint(declared)
    return " ".join(str(ddl.compile(dialect=connection.dialect)).split())
