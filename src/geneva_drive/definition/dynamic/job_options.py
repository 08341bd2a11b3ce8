"""The options of a job that are stored with its nodes, for processes without the job."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from geneva_drive.definition.options.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """When and where executions of a job run. The defaults are for an unknown job."""

    queue: str | None = None
    priority: int | None = None
    wait: timedelta = timedelta(0)
    is_limited: bool = True  # unknown here: the worker that runs it decides

    @classmethod
    def of(cls, options: Options) -> Scheduling:
        return cls(
            queue=options.queue,
            priority=options.priority,
            wait=options.wait,
            is_limited=options.limit is not None,
        )

    def dump(self) -> str | None:
        """Return the options that are set, as JSON; None for most jobs, to keep graphs small."""
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
    """Parse the text of `dump`. Cached: thousands of nodes of a large graph have the same text."""
    written = json.loads(text)
    return Scheduling(
        queue=written.get("queue"),
        priority=written.get("priority"),
        wait=timedelta(seconds=written.get("wait", 0)),
        is_limited=written.get("is_limited", False),
    )
