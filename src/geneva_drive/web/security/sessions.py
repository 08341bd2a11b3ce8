"""Sessions of the dashboard: a signed cookie that names an API key and holds no secret.

A session ends with its time, and when its key is revoked, expires or gets a new secret: each
request looks the key up, and the signature covers the hash of the secret that the session began
with.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from starlette.requests import Request

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.access.secret import parse_secret
from geneva_drive.drive.drive import Drive

SESSION_COOKIE = "geneva_session"
LIFETIME = timedelta(hours=12)
_PARTS = 4
_LONGEST = 256  # characters of a cookie


class Sessions:
    """Begins sessions, and finds the actor of one."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        # Without the setting, sessions end when the process does.
        given = drive.settings.session_secret
        self._secret = given.encode() if given is not None else secrets.token_bytes(32)

    def begin(self, api_key: str) -> tuple[Actor, str] | None:
        """Return the actor of an API key and the cookie of a new session; None if refused."""
        presented = parse_secret(api_key)
        actor = None if presented is None else self._drive.keys.authenticate(api_key)
        if presented is None or not isinstance(actor, Actor):
            return None
        until = int((self._now() + LIFETIME).timestamp())
        text = f"{presented.key_id}.{until}.{secrets.token_hex(8)}"
        return actor, f"{text}.{self._signature(text, presented.hash)}"

    def actor_of(self, request: Request) -> Actor | None:
        """Return the actor of a session; it queries the database."""
        cookie = request.cookies.get(SESSION_COOKIE, "")
        parts = cookie.split(".")
        is_whole = len(parts) == _PARTS and len(cookie) <= _LONGEST and cookie.isascii()
        if not is_whole or not parts[1].isdecimal():
            return None
        text, signature = cookie.rpartition(".")[0], parts[3]
        if int(parts[1]) <= self._now().timestamp():
            return None

        def proves(stored: str | None) -> bool:
            return stored is not None and hmac.compare_digest(
                signature, self._signature(text, stored)
            )

        found = self._drive.keys.authenticate_by(parts[0], proves)
        return found if isinstance(found, Actor) else None

    def _signature(self, text: str, secret_hash: str) -> str:
        return hmac.new(self._secret, f"{text}.{secret_hash}".encode(), sha256).hexdigest()

    def _now(self) -> datetime:
        return self._drive.clock.now()
