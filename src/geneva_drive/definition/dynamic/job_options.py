"""The options that are stored with each node: its own, and those of its job."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.options import Options


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """When and where executions of a job run; the defaults apply to an unknown job.

    They are stored for processes that do not have the job.
    """

    queue: str | None = None
    priority: int | None = None
    wait: timedelta = timedelta(0)
    is_limited: bool = True  # True for an unknown job: the worker that runs it decides
    keeps_result: bool = False  # set by the node; its job may set it, too
    part: NodeKind | None = None  # the node is the worker or the aggregate of a batch
    checkpoint_interval: int | None = None  # for the worker of a batch

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
        if self.keeps_result:
            written["keep_result"] = True
        if self.part is not None:
            written["part"] = self.part
        if self.checkpoint_interval is not None:
            written["checkpoint_interval"] = self.checkpoint_interval
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
        keeps_result=written.get("keep_result", False),
        part=NodeKind(written["part"]) if "part" in written else None,
        checkpoint_interval=written.get("checkpoint_interval"),
    )


def of_row(text: str | None) -> Scheduling:
    """Return the options that were stored with a node; the defaults if there are none."""
    return UNKNOWN if text is None else load(text)


def is_worker(text: str | None) -> bool:
    """True for the worker of a batch, which has an execution for each range."""
    return text is not None and load(text).part is NodeKind.WORKER


@functools.lru_cache(maxsize=1_000)
def with_own(
    text: str | None,
    *,
    keep: bool = False,
    part: NodeKind | None = None,
    checkpoint_interval: int | None = None,
) -> str | None:
    """Return the options of a job and of a node, as they are stored with the node."""
    if text is None and not keep and part is None:
        return None
    return replace(
        of_row(text), keeps_result=keep, part=part, checkpoint_interval=checkpoint_interval
    ).dump()
