"""Who a worker is: its id, its name, and what it serves."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.run import signature_of
from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.worker.claims.tokens import Tokens


def _new_id() -> str:
    return uuid4().hex


def _name() -> str:
    return f"{platform.node()}:{os.getpid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A worker to others: a new one each time, so that nobody inherits an old claim."""

    id: str = field(default_factory=_new_id)
    name: str = field(default_factory=_name)
    queues: frozenset[str] | None = None
    caps: Mapping[str, int] = field(default_factory=dict)  # of queues: how many at once here
    tokens: Tokens = field(default_factory=Tokens)

    def served_queues(self) -> Sequence[str] | None:
        return None if self.queues is None else sorted(self.queues)

    def served_types(self) -> Sequence[str]:
        types = registry.types()
        # Of dynamic workflows alone it could run nothing that matters, without a single job.
        return types if list(types) != [DYNAMIC_TYPE] or jobs.names() else []

    def chaining(self, token: str, limited_queues: Collection[str]) -> Chaining:
        """Say who takes the next step along, under which token.

        Not one of a capped queue: whether there is room on it is known only when it is claimed.
        """
        return Chaining(
            worker_id=self.id,
            claim_token=token,
            types=self.served_types(),
            queues=None if self.queues is None else self.queues - self.caps.keys(),
            limited_queues=limited_queues,
        )


def signatures() -> dict[str, str]:
    """Name the classes in this process, each with the shape that its code has."""
    return {known.type: signature_of(known) for known in registry.definitions()}
