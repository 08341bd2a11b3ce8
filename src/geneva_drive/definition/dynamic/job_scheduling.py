"""What of a job's options is kept with its nodes, for processes that do not import it."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from geneva_drive.definition.options.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """When and where executions of a job run; as it stands here, of one that nobody knows."""

    queue: str | None = None
    priority: int | None = None
    wait: timedelta = timedelta(0)
    is_limited: bool = True  # whoever runs it will know, and must be asked

    @classmethod
    def of(cls, options: Options) -> Scheduling:
        return cls(
            queue=options.queue,
            priority=options.priority,
            wait=options.wait,
            is_limited=options.limit is not None,
        )

    def dump(self) -> str | None:
        """Write what differs from the usual; None for most jobs, of which very many are stored."""
        written: dict[str, Any] = {}
        if self.queue is not None:
            written["queue"] = self.queue
        if self.priority is not None:
            written["priority"] = self.priority
        if self.wait:
            written["wait"] = self.wait.total_seconds()
        if self.is_limited:
            written["is_limited"] = True
        return json.dumps(written) if written else None


UNKNOWN = Scheduling()


@functools.lru_cache(maxsize=1_000)
def load(text: str) -> Scheduling:
    """Read what `dump` wrote; a large graph has the same text at thousands of its nodes."""
    written = json.loads(text)
    return Scheduling(
        queue=written.get("queue"),
        priority=written.get("priority"),
        wait=timedelta(seconds=written.get("wait", 0)),
        is_limited=written.get("is_limited", False),
    )
