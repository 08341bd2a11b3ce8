"""The identity of a worker: its id and name, what it serves, and the tokens of its new claims."""

from __future__ import annotations

import os
import platform
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta

from geneva_drive.declarative.actions.registry import registered
from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.dynamic import jobs
from geneva_drive.definition.dynamic.document_workflow import DOCUMENTS
from geneva_drive.definition.dynamic.dynamic_workflow import signature_of
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.settings import OWN_QUEUE
from geneva_drive.storage.store import Store

_RANDOM_BYTES = 6
_LONGEST_NAME = 51  # with the random part, an id fits its column of 64 characters
_SHOWN = 8


class Tokens:
    """Claim tokens sent to the database whose executions are not in memory yet.

    The heartbeat does not release rows with such a token.
    """

    def __init__(self) -> None:
        # No lock: adding a string to a set, or removing it, is atomic.
        self._in_hand: set[str] = set()

    def expecting(self) -> AbstractContextManager[str]:
        """Make a token; leave the context once its executions are in the flights."""
        return _Expected(self._in_hand)

    def __contains__(self, token: object) -> bool:
        return token in self._in_hand


class _Expected:
    """A token in hand. A class: `contextlib.contextmanager` would take far longer."""

    __slots__ = ("_in_hand", "_token")

    def __init__(self, in_hand: set[str]) -> None:
        self._in_hand = in_hand
        self._token = new_token()

    def __enter__(self) -> str:
        self._in_hand.add(self._token)
        return self._token

    def __exit__(self, *_: object) -> None:
        self._in_hand.discard(self._token)


def new_token() -> str:
    return os.urandom(16).hex()


def process_name() -> str:
    return f"{platform.node()}:{os.getpid()}"


def _new_id(name: str) -> str:
    """Return a new id that begins with the name: history shows it when the worker is long gone."""
    return f"{name[:_LONGEST_NAME]}-{os.urandom(_RANDOM_BYTES).hex()}"


def name_in(worker_id: str) -> str:
    """Return the name with which an id begins; of a foreign id, its first characters."""
    return worker_id.rpartition("-")[0] or worker_id[:_SHOWN]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What identifies one worker; each has a new id, so that none inherits an old claim."""

    name: str = field(default_factory=process_name)
    id: str = ""  # made from the name, unless given
    queues: frozenset[str] | None = None  # None: all queues
    caps: Mapping[str, int] = field(default_factory=dict)  # queue -> how many may run here
    tokens: Tokens = field(default_factory=Tokens)

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", _new_id(self.name))

    def register(self, store: Store, lease: timedelta) -> None:
        """Insert the worker's row, which keeps other workers from recovering what it runs."""
        store.write_at_once(
            lambda connection: store.workers.register(
                connection,
                self.id,
                name=self.name,
                queues=None if self.queues is None else sorted(self.queues),
                signatures=signatures(),
                lease=lease,
            )
        )

    def served_queues(self) -> Sequence[str] | None:
        """Return the queues to claim from: also the library's own, which every worker serves."""
        return None if self.queues is None else sorted(self.queues | {OWN_QUEUE})

    def served_types(self) -> Sequence[str]:
        types = registry.types()
        if self.has_user_code:
            return types
        # Without user code, it could run no node of a dynamic workflow.
        return [one for one in types if one != DYNAMIC_TYPE]

    @property
    def has_user_code(self) -> bool:
        """True if the process has workflow classes or jobs of its user."""
        return bool(jobs.names()) or any(one not in RESERVED_TYPES for one in registry.types())

    def chaining(self, token: str, limited_queues: Collection[str]) -> NextClaim:
        """Return the claim that a commit makes on the next step for this worker.

        Capped queues are left out: their free capacity is known only when the poller claims.
        """
        return NextClaim(
            worker_id=self.id,
            claim_token=token,
            types=self.served_types(),
            queues=None if self.queues is None else (self.queues | {OWN_QUEUE}) - self.caps.keys(),
            limited_queues=limited_queues,
        )


def signatures() -> dict[str, str]:
    """Return the signature of each workflow type that this process knows.

    The signature of documents lists the actions and loaders that they can call here.
    """
    found = {known.type: signature_of(known) for known in registry.definitions()}
    return {**found, DOCUMENTS.type: ", ".join(registered())}
