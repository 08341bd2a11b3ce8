"""The JSON bodies of API keys."""

from __future__ import annotations

from typing import Any

from geneva_drive.drive.access.api_keys import ApiKey, NewApiKey
from geneva_drive.drive.views.execution_bodies import moment_body


def api_key_body(key: ApiKey) -> dict[str, Any]:
    """Return the body of an API key; a new one has its secret."""
    body = {
        "id": key.id,
        "name": key.name,
        "permissions": list(key.permissions),
        "roles": list(key.roles),
        "created_at": moment_body(key.created_at),
        "expires_at": moment_body(key.expires_at),
        "revoked_at": moment_body(key.revoked_at),
        "last_used_at": moment_body(key.last_used_at),
        "former_expires_at": moment_body(key.former_expires_at),
    }
    return {**body, "secret": key.secret} if isinstance(key, NewApiKey) else body
