"""The revisions of the schema in order, available without loading Alembic."""

from __future__ import annotations

REVISIONS = (
    *("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010"),
    "0011",
    "0012",
    "0013",
    "0014",
    "0015",
    "0016",
    "0017",
    "0018",
)
HEAD = REVISIONS[-1]


def version_table(prefix: str) -> str:
    return f"{prefix}schema_version"
