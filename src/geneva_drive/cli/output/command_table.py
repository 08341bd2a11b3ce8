"""The commands that operators gave, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from geneva_drive.cli.output.console import make_table, moment, plain
from geneva_drive.storage.schema.records import AuditRecord


def commands_table(entries: Sequence[AuditRecord], *, with_approvals: bool = False) -> Table:
    """Return the entries of the audit trail as a table, optionally with their approvals."""
    about = ["Approval"] if with_approvals else []
    table = make_table("Command", *about, "At (UTC)", "Actor", "Reason")
    for column in table.columns[:-2]:
        column.no_wrap = True
    for entry in entries:
        table.add_row(
            entry.command,
            *([str(entry.approval_id or "")] if with_approvals else []),
            moment(entry.at),
            plain(entry.actor or ""),
            plain(entry.reason or ""),
        )
    return table
