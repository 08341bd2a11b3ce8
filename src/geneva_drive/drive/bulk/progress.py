"""The progress of a bulk: `handle.bulk`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.reserved_types import BULK_STEP
from geneva_drive.drive.bulk.bulk_cursor import BulkCursor
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.records import WorkflowRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkProgress:
    """The order of a bulk, and the counts so far."""

    command: str
    where: Mapping[str, str]
    reason: str | None
    first: int | None
    stop_after: int | None
    total: int  # workflows that matched when it was ordered
    done: int  # workflows that it has passed so far
    applied: int
    passed_over: int  # had left the state, or refused the command; see `reasons`
    first_ids: tuple[str, ...]  # those that were tried before the rest, if any were
    failed_again: int  # among those whose outcome it waited for
    failed_ids: tuple[str, ...]  # the first of them
    reasons: Mapping[str, int]  # why workflows refused the command
    stopped: str | None  # why it ended early


def bulk_progress(drive: Drive, record: WorkflowRecord) -> BulkProgress:
    """Read the counts from the cursor of the bulk's step, or from its result."""
    store, key = drive.store, record.id
    found = store.read(lambda c: store.attempts.latest(c, [(key, BULK_STEP)]))
    latest = found[-1] if found else None
    counts: dict[str, Any] = typed_json.load(latest.result) if latest and latest.result else {}
    if not counts and latest is not None and latest.cursor is not None:
        counts = BulkCursor.load(typed_json.load(latest.cursor)).result(0)
    context: dict[str, Any] = typed_json.load(record.context) or {}
    given = counts or BulkCursor().result(0)
    return BulkProgress(
        command=context["command"],
        where=context["where"],
        reason=context["reason"],
        first=context["first"],
        stop_after=context["stop_after"],
        total=max(context["total"], given["done"]),
        done=given["done"],
        applied=given["applied"],
        passed_over=given["passed_over"],
        first_ids=tuple(given.get("first_ids", ())),
        failed_again=given["failed_again"],
        failed_ids=tuple(given["failed_ids"]),
        reasons=given["reasons"],
        stopped=given["stopped"],
    )
