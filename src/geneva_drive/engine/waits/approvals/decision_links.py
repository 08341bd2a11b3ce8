"""Decision links: one person decides one request with each, without a login."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from sqlalchemy import Connection

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.approvals.pending_request import (
    PendingRequest,
    append_audit,
    lock_request,
)
from geneva_drive.errors import InvalidInput, InvalidStateError, NotFound
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.approval_records import LinkRecord

_TOKEN_BYTES = 32


def create(
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    *,
    person: str,
    expires_in: timedelta,
) -> str:
    """Return the URL where a person can decide; only the hash of its token is stored."""
    address = environment.settings.public_url
    if address is None:
        raise InvalidInput(
            "link() needs the setting public_url, the address under which people reach this "
            "installation, such as 'https://shop.example/geneva'."
        )
    token = secrets.token_urlsafe(_TOKEN_BYTES)

    def insert(connection: Connection) -> None:
        request = lock_request(connection, environment, workflow_id, approval_id, "link to")
        refusal = request.refusal_of(person)
        if refusal is not None:
            raise InvalidInput(f"A link for {person!r} would be refused. {refusal}")
        environment.store.approval_people.add_link(
            connection,
            {
                "approval_id": approval_id,
                "token_hash": hash_of(token),
                "person": person,
                "created_at": request.now,
                "expires_at": request.now + expires_in,
            },
        )
        append_audit(connection, environment, request, "link", actor=None, reason=f"for {person}")

    environment.store.write(insert)
    return f"{address}/a/{token}"


def hash_of(token: str) -> str:
    # A random token of 256 bits needs no salt and no slow hash: it cannot be guessed.
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def find(environment: Environment, token: str) -> LinkRecord:
    """Return the link of a token, usable or not; raise `NotFound` if there is none."""
    store = environment.store
    found = store.read(lambda connection: store.approval_people.link(connection, hash_of(token)))
    if found is None:
        raise NotFound("There is no such decision link. Was it copied whole?")
    return found


def check(
    connection: Connection, environment: Environment, request: PendingRequest, link_hash: str | None
) -> None:
    """Raise an error if the link to this pending request cannot be used any more."""
    if link_hash is None:  # the caller used no link
        return
    link = environment.store.approval_people.link(connection, link_hash)
    fault = "it does not exist" if link is None else fault_of(environment, link)
    if fault is not None:
        raise InvalidStateError(
            f"The link to approval {request.approval.id} cannot be used: {fault}. Ask for a new "
            f"one."
        )


def fault_of(environment: Environment, link: LinkRecord) -> str | None:
    """Return why a link to a pending request is dead, or None."""
    if link.closed_at is not None:
        return "the request was passed on to another person"
    if link.expires_at <= environment.clock.now():
        return "it has expired"
    return None
