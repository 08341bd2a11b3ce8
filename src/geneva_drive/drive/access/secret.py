"""The secret of an API key: `gd_<id>_<secret>`, stored as a hash."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

_ID_BYTES = 8
_SECRET_BYTES = 32
_FORM = re.compile(r"gd_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret as a caller presents it; its text appears in no log."""

    key_id: str
    text: str = field(repr=False)

    @property
    def hash(self) -> str:
        # The secret has 256 random bits, so a slow hash would add nothing.
        return hashlib.sha256(self.text.encode()).hexdigest()

    def matches(self, stored: str | None) -> bool:
        return stored is not None and hmac.compare_digest(self.hash, stored)


def make_id() -> str:
    return secrets.token_hex(_ID_BYTES)


def make_secret(key_id: str) -> Secret:
    return Secret(key_id, f"gd_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}")


def parse_secret(given: object) -> Secret | None:
    """Parse a secret; None if the value does not have the form of one."""
    match = _FORM.fullmatch(given) if isinstance(given, str) else None
    return None if match is None else Secret(match[1], match[0])


def parse_id(given: object) -> str | None:
    """Return the id of a key, given the id or a whole secret."""
    if isinstance(given, str) and _ID.fullmatch(given):
        return given
    secret = parse_secret(given)
    return None if secret is None else secret.key_id
