"""A cache of recently authenticated API keys, which saves most requests a query."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.definition.actor import Actor

KEPT_SECONDS = 1.0  # how long another process's revocation may go unnoticed
_MOST = 1_000


@dataclass(frozen=True, slots=True)
class Admission:
    """A secret that was found valid."""

    actor: Actor
    ends_at: datetime | None


class ApiKeyCache:
    """The admissions of the last second, by the hash of the secret.

    Threads share it without a lock: each call reads or replaces one entry.
    """

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Admission]] = {}

    def get(self, secret_hash: str, now: datetime) -> Actor | None:
        """Return the actor of a secret that was valid a moment ago, and has not expired since."""
        admitted_at, admission = self._kept.get(secret_hash, (0.0, None))
        if admission is None or time.monotonic() - admitted_at > KEPT_SECONDS:
            return None
        is_over = admission.ends_at is not None and admission.ends_at <= now
        return None if is_over else admission.actor

    def put(self, secret_hash: str, admission: Admission, looked_up_at: float) -> None:
        if len(self._kept) >= _MOST:
            self._kept = {}
        self._kept[secret_hash] = (looked_up_at, admission)

    def clear(self) -> None:
        """Look every key up again."""
        self._kept = {}
