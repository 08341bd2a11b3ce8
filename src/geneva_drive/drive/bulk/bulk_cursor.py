"""The progress of a bulk, as stored in the cursor of its step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from geneva_drive.drive.failures.message_pattern import normalised

_MOST_REASONS = 10
_MOST_IDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkCursor:
    """The counts of a bulk, its last workflow, and the workflows whose outcome it waits for."""

    after: str | None = None  # the id of the last workflow
    applied: int = 0
    passed_over: int = 0
    first_ids: tuple[str, ...] = ()  # the workflows that were tried before the rest
    failed_again: int = 0
    failed_ids: tuple[str, ...] = ()  # the first ones that failed again
    reasons: Mapping[str, int] = field(default_factory=dict)  # why workflows were passed over
    watched: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # id -> nodes that run
    round: int = 0  # the size of the last portion whose outcome is watched
    looks: int = 0  # how often the watched workflows were checked
    stopped: str | None = None  # why it ended early

    @classmethod
    def load(cls, cursor: Mapping[str, Any] | None) -> Self:
        if cursor is None:
            return cls()
        watched = {key: tuple(nodes) for key, nodes in cursor["watched"].items()}
        ids = {name: tuple(cursor.get(name, ())) for name in ("first_ids", "failed_ids")}
        return cls(**{**cursor, **ids, "watched": watched})

    def dump(self) -> dict[str, Any]:
        given = asdict(self)
        given["first_ids"] = list(self.first_ids)
        given["failed_ids"] = list(self.failed_ids)
        given["watched"] = {key: list(nodes) for key, nodes in self.watched.items()}
        return given

    @property
    def done(self) -> int:
        return self.applied + self.passed_over

    def add(self, *, after: str, applied: int, refusals: Iterable[str], gone: int) -> BulkCursor:
        """Count a portion; `gone` are those that no longer matched once they were locked."""
        reasons = dict(self.reasons)
        said = list(refusals)
        for one in said:
            text = normalised(one)
            if text in reasons or len(reasons) < _MOST_REASONS:
                reasons[text] = reasons.get(text, 0) + 1
        return replace(
            self,
            after=after,
            applied=self.applied + applied,
            passed_over=self.passed_over + len(said) + gone,
            reasons=reasons,
        )

    def add_first(self, ids: Iterable[str]) -> BulkCursor:
        return replace(self, first_ids=(*self.first_ids, *ids)[:_MOST_IDS])

    def add_failed(self, ids: Iterable[str]) -> BulkCursor:
        failed = list(ids)
        return replace(
            self,
            failed_again=self.failed_again + len(failed),
            failed_ids=(*self.failed_ids, *failed)[:_MOST_IDS],
        )

    def end(self, total: int, stopped: str | None) -> BulkCursor:
        """Return the final counts; counted workflows that were not found have left the state."""
        is_whole = stopped is None
        missed = max(0, total - self.done) if is_whole else 0
        return replace(self, passed_over=self.passed_over + missed, stopped=stopped)

    def result(self, total: int) -> dict[str, Any]:
        """Return the `result` of the workflow."""
        return {
            "total": max(total, self.done),
            "done": self.done,
            "applied": self.applied,
            "passed_over": self.passed_over,
            "first_ids": list(self.first_ids),
            "failed_again": self.failed_again,
            "failed_ids": list(self.failed_ids),
            "reasons": dict(self.reasons),
            "stopped": self.stopped,
        }
