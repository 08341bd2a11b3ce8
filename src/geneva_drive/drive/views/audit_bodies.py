"""The JSON bodies of audit entries, in lists over all workflows."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.views.execution_bodies import audit_body, key_body, optional_key_body
from geneva_drive.storage.schema.records import AuditRecord
from geneva_drive.storage.statements.search.pages import AuditEntryRow


def audit_row_body(row: AuditEntryRow) -> dict[str, Any]:
    entry = AuditRecord(command=row.command, actor=row.actor, reason=row.reason, at=row.at)
    return {
        "id": key_body(row.id),
        "workflow_id": optional_key_body(row.workflow_id),
        "approval_id": optional_key_body(row.approval_id),
        "subject": row.subject,
        **audit_body(entry),
    }
