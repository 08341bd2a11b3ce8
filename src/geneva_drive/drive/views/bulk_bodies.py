"""The JSON body of a bulk's dry run."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.bulk.bulk import BulkPreview
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.views.execution_bodies import key_body


def preview_body(preview: BulkPreview) -> dict[str, Any]:
    """Return how many workflows match, and the first of them."""
    return {"count": preview.count, "sample": [_sample_body(one) for one in preview.sample]}


def _sample_body(workflow: WorkflowHandle[Any]) -> dict[str, Any]:
    return {
        "id": key_body(workflow.id),
        "type": workflow.type,
        "state": workflow.state,
        "hero_type": workflow.hero_type,
        "hero_id": workflow.hero_id,
        "paused_step_name": workflow.paused_step_name,
        "paused_reason": workflow.paused_reason,
    }
