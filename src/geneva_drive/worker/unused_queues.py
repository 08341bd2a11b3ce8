"""A warning if a worker serves a queue that its code does not use."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from geneva_drive.definition.definition import Definition
from geneva_drive.definition.dynamic.jobs import Job

logger = logging.getLogger(__name__)


def warn_about(
    served: Collection[str], definitions: Iterable[Definition], jobs: Iterable[Job[..., Any]]
) -> None:
    """Warn about a queue that no workflow class, step or job names; it may be misspelled."""
    used = set(_used(definitions, jobs))
    for queue in sorted(set(served) - used):
        logger.warning(
            "No workflow class, step or job of this worker uses queue %r; they use %s. The worker "
            "runs only workflows that are created with queue=%r. If the name is misspelled, "
            "correct --queues or drive.worker(queues=...).",
            queue,
            ", ".join(map(repr, sorted(used))) or "none",
            queue,
        )


def _used(definitions: Iterable[Definition], jobs: Iterable[Job[..., Any]]) -> Iterator[str]:
    for definition in definitions:
        yield from (node.options.queue or definition.queue for node in definition.nodes)
    for job in jobs:
        yield job.options.queue or "default"
