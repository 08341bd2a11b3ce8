"""The JSON bodies of workers and queues."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.drive.views.execution_bodies import moment_body
from geneva_drive.storage.schema.records import WorkerRecord
from geneva_drive.storage.statements.search.pages import QueueCounts


def worker_body(worker: WorkerRecord) -> dict[str, Any]:
    return {
        "id": worker.id,
        "name": worker.name,
        "queues": None if worker.queues is None else list(worker.queues),
        "types": sorted(worker.signatures.keys() - RESERVED_TYPES),
        "is_alive": worker.heard_within_lease and worker.stopped_at is None,
        "started_at": moment_body(worker.started_at),
        "heartbeat_at": moment_body(worker.heartbeat_at),
        "stopped_at": moment_body(worker.stopped_at),
        "trouble": worker.trouble,
    }


def queue_body(row: QueueCounts) -> dict[str, Any]:
    return {
        "queue": row.queue,
        "due": row.due,
        "oldest_due_at": moment_body(row.oldest_due_at),
        "running": row.running,
    }
