"""The order of a bulk, as stored in the context of its workflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from geneva_drive.drive.bulk.bulk_command import BulkCommand
from geneva_drive.drive.bulk.where import Where
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPlan:
    """What an operator ordered."""

    command: BulkCommand
    where: Where
    actor: str | None
    reason: str | None
    first: int | None
    stop_after: int | None
    total: int  # workflows that matched when it was ordered
    until: Key | None  # the last workflow at that time; None without one

    @classmethod
    def load(cls, context: Mapping[str, Any], key_type: KeyType) -> Self:
        until = context["until"]
        return cls(
            command=BulkCommand(context["command"]),
            where=Where.of(dict(context["where"])),
            actor=context["actor"],
            reason=context["reason"],
            first=context["first"],
            stop_after=context["stop_after"],
            total=context["total"],
            until=None if until is None else keys.parse(key_type, until),
        )

    def dump(self) -> dict[str, Any]:
        return {
            "command": self.command.value,
            "where": self.where.written,
            "actor": self.actor,
            "reason": self.reason,
            "first": self.first,
            "stop_after": self.stop_after,
            "total": self.total,
            "until": None if self.until is None else str(self.until),
        }
