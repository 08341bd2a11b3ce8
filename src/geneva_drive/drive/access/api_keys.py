"""API keys: `drive.keys`."""

from __future__ import annotations

import builtins
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.definition.actor import MAX_ID_LENGTH, Actor
from geneva_drive.display import shown
from geneva_drive.drive.access import secret as secrets
from geneva_drive.drive.access.api_key_cache import Admission, ApiKeyCache
from geneva_drive.drive.access.permissions import checked_permissions
from geneva_drive.drive.access.roles import MAX_NAME_LENGTH, granted_by, read_grants
from geneva_drive.drive.access.secret import Secret
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput, InvalidStateError, KeyNotFound, StorageError
from geneva_drive.storage.schema.access.access_records import ApiKeyRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

# Called with the hash of a stored secret, or None without one; True if the caller knows the secret.
Proof = Callable[[str | None], bool]

_USE_INTERVAL = timedelta(minutes=1)  # the precision of `last_used_at`


class KeyRefusal(StrEnum):
    """Why a secret was refused; always `unknown` unless the secret was genuine."""

    UNKNOWN = "unknown"
    REVOKED = "revoked"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key, without its secret, which is not stored."""

    id: str
    name: str  # the actor of everything that is done with the key
    permissions: tuple[str, ...]
    roles: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None  # to the minute
    former_expires_at: datetime | None  # when the secret before the last rotation stops working


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey(ApiKey):
    """An API key with its secret, which is shown this once."""

    secret: str = field(repr=False)


class Keys:
    """The API keys of a Drive.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> key = drive.keys.create("billing", permissions=["execution:read"], roles=["approver"])
    >>> drive.keys.authenticate(key.secret).id
    'billing'
    >>> _ = drive.keys.revoke(key.id)
    >>> str(drive.keys.authenticate(key.secret))
    'revoked'
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._recent = ApiKeyCache()

    def create(
        self,
        name: str,
        permissions: Iterable[str] = (),
        roles: Iterable[str] = (),
        expires_at: datetime | None = None,
    ) -> NewApiKey:
        """Create a key. Its `secret` is in the returned object and nowhere else."""
        store, now = self._drive.store, self._drive.clock.now()
        key_id = secrets.make_id()
        secret = secrets.make_secret(key_id)
        record = ApiKeyRecord(
            id=key_id,
            name=checks.text("create(name)", name, longest=MAX_ID_LENGTH),
            permissions=checked_permissions("create(permissions=...)", permissions),
            roles=_checked_roles(roles),
            secret_hash=secret.hash,
            created_at=now,
            expires_at=_checked_expiry(expires_at, now),
        )
        store.write(lambda connection: store.api_keys.insert(connection, record))
        return _new_key(record, secret)

    def list(self) -> builtins.list[ApiKey]:
        """Return all keys, the newest first, also revoked and expired ones."""
        store = self._drive.store
        return [_key(record) for record in store.read(store.api_keys.all)]

    def rotate(self, id: str, overlap: Duration = timedelta(0)) -> NewApiKey:
        """Replace the secret of a key. The former secret keeps working for `overlap`.

        The key keeps its id, name and rights. A secret from an earlier rotation stops working
        immediately.
        """
        span = checks.duration("rotate(overlap=...)", overlap)
        store, now = self._drive.store, self._drive.clock.now()
        former = self._require("rotate", id)
        if former.revoked_at is not None:
            raise InvalidStateError(f"Key {former.id} is revoked. Create a new one.")
        secret = secrets.make_secret(former.id)
        former_until = now + span if span else None
        values = {
            "secret_hash": secret.hash,
            "former_hash": former.secret_hash if span else None,
            "former_expires_at": former_until,
        }
        if not store.write(lambda connection: store.api_keys.rotate(connection, former, values)):
            raise InvalidStateError(
                f"Key {former.id} was rotated or revoked by another call at the same time. List "
                f"the keys, and rotate it again if its new secret is not known."
            )
        self.forget_recent()
        return _new_key(self._require("rotate", former.id), secret)

    def revoke(self, id_or_secret: str) -> ApiKey:
        """Revoke a key, which is refused from now on. Revoking it again changes nothing."""
        key_id = self._require("revoke", id_or_secret).id
        store, now = self._drive.store, self._drive.clock.now()
        store.write(lambda connection: store.api_keys.revoke(connection, key_id, now))
        self.forget_recent()
        return _key(self._require("revoke", key_id))

    def authenticate(self, secret: str) -> Actor | KeyRefusal:
        """Return the actor of a secret, with the permissions of its roles, or why it is refused."""
        presented = secrets.parse_secret(secret)
        if presented is None:
            return KeyRefusal.UNKNOWN
        began = time.monotonic()
        found = self._admission(presented.key_id, presented.matches)
        if isinstance(found, KeyRefusal):
            return found
        self._recent.put(presented.hash, found, began)
        return found.actor

    def authenticated_recently(self, secret: str) -> Actor | None:
        """Return the actor of a secret that `authenticate` found valid within the last second.

        It does not query the database. Changes to keys and roles by this process take effect
        immediately, changes by other processes within a second.
        """
        presented = secrets.parse_secret(secret)
        if presented is None:
            return None
        return self._recent.get(presented.hash, self._drive.clock.now())

    def authenticate_by(self, key_id: str, proves: Proof) -> Actor | KeyRefusal:
        """Return the actor of a key if `proves(hash)` is true for the hash of a valid secret.

        A session of the dashboard does not hold the secret, but can prove that it began with it.
        """
        found = self._admission(key_id, proves)
        return found if isinstance(found, KeyRefusal) else found.actor

    def forget_recent(self) -> None:
        """Drop the recent authentications, because a key or a role has changed."""
        self._recent.clear()

    def _admission(self, key_id: str, proves: Proof) -> Admission | KeyRefusal:
        store, now = self._drive.store, self._drive.clock.now()
        found = store.read(lambda connection: self._look_up(connection, key_id))
        if found is None:
            return KeyRefusal.UNKNOWN
        record, grants = found
        is_present, is_former = proves(record.secret_hash), proves(record.former_hash)
        if not (is_present or is_former):
            return KeyRefusal.UNKNOWN
        if record.revoked_at is not None:
            return KeyRefusal.REVOKED
        ends_at = _end_of(record, is_former=not is_present)
        if ends_at is not None and ends_at <= now:
            return KeyRefusal.EXPIRED
        self._note_use(record, now)
        permissions = granted_by(record.permissions, record.roles, grants)
        return Admission(Actor(record.name, record.roles, sorted(permissions)), ends_at)

    def _look_up(
        self, connection: Connection, key_id: str
    ) -> tuple[ApiKeyRecord, dict[str, tuple[str, ...]]] | None:
        record = self._drive.store.api_keys.get(connection, key_id)
        if record is None:
            return None
        return record, read_grants(connection, self._drive, record.roles)

    def _note_use(self, record: ApiKeyRecord, now: datetime) -> None:
        """Record that a key was used, at most once a minute over all processes."""
        before = now - _USE_INTERVAL
        if record.last_used_at is not None and record.last_used_at > before:
            return
        store = self._drive.store
        try:
            store.write(lambda connection: store.api_keys.note_use(connection, record, now, before))
        except StorageError:
            return  # a database that takes no writes still answers reads

    def _require(self, command: str, given: object) -> ApiKeyRecord:
        if not isinstance(given, str):
            raise InvalidInput(f"{command}() takes the id of a key, got {shown(given)}.")
        key_id, store = secrets.parse_id(given), self._drive.store
        record = None
        if key_id is not None:
            record = store.read(lambda connection: store.api_keys.get(connection, key_id))
        if record is None:
            raise KeyNotFound(key_id)
        return record


def _end_of(record: ApiKeyRecord, *, is_former: bool) -> datetime | None:
    ends = [record.expires_at, record.former_expires_at if is_former else None]
    return min((end for end in ends if end is not None), default=None)


def _checked_roles(given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"create(roles=...) must be a list of names, got {shown(given)}.")
    owner = "Each name in create(roles=...)"
    return tuple(dict.fromkeys(checks.text(owner, one, longest=MAX_NAME_LENGTH) for one in given))


def _checked_expiry(given: object, now: datetime) -> datetime | None:
    if given is None:
        return None
    moment = checks.moment("create(expires_at=...)", given)
    if moment <= now:
        raise InvalidInput(f"create(expires_at=...) must be in the future, got {shown(given)}.")
    return moment


def _key(record: ApiKeyRecord) -> ApiKey:
    return ApiKey(**_fields(record))


def _new_key(record: ApiKeyRecord, secret: Secret) -> NewApiKey:
    return NewApiKey(**_fields(record), secret=secret.text)


def _fields(record: ApiKeyRecord) -> dict[str, Any]:
    values = asdict(record)
    return {one.name: values[one.name] for one in fields(ApiKey)}
