"""Who is there: the shop's own login decides who may use the mounted API."""

from __future__ import annotations

import base64
import binascii
import hmac

from starlette.requests import Request

import geneva_drive as gd

# Name, password and roles. A real shop has sessions and a table of staff.
STAFF = {
    "olga": ("olga", ["operator"]),
    "mary": ("mary", ["approver", "manager"]),
}


def authenticate(request: Request) -> gd.Actor | None:
    """Return the member of staff; None asks for an API key instead."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, _, password = base64.b64decode(given, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    expected, roles = STAFF.get(name, ("", []))
    if not expected or not hmac.compare_digest(password.encode(), expected.encode()):
        return None
    return gd.Actor(name, roles=roles)
