"""The built-in types beyond JSON, each with its stored form."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from types import NoneType
from typing import Any, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import enum_names


class Unstorable(Exception):
    """A value cannot be stored. The message begins with the path to the value."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self._words = words
        self._path = ""
        self._lead = ""

    def within(self, part: str) -> None:
        self._path = f"{part}{self._path}"

    def within_a_key(self) -> None:
        self._lead = f"a key of {self._lead}"

    def about(self, what: str) -> str:
        return f"{self._lead}{what}{self._path} {self._words}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Serializer:
    kind: type
    name: str
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def _encode_moment(moment: datetime | time) -> object:
    # ISO text has no fold, but when summer time ends, one hour occurs twice.
    text = moment.isoformat()
    return [text, moment.fold] if moment.fold else text


def _encode_datetime(moment: datetime) -> object:
    # ISO text has an offset but no zone, which arithmetic over days needs.
    zone = moment.tzinfo
    if isinstance(zone, ZoneInfo) and zone.key is not None:
        return [moment.isoformat(), moment.fold, zone.key]
    return _encode_moment(moment)


def _encode_time(of_day: time) -> object:
    if of_day.tzinfo is not None and of_day.utcoffset() is None:
        raise Unstorable(
            f"is a time in {of_day.tzinfo}, whose UTC offset depends on the date. Store a "
            f"datetime, or the time without its zone."
        )
    return _encode_moment(of_day)


def _decode_datetime(stored: Any) -> datetime:
    text, fold, *zone = stored if isinstance(stored, list) else (stored, 0)
    moment = _with_exact_offset(datetime.fromisoformat(text), text).replace(fold=fold)
    return _in_zone(moment, zone[0]) if zone else moment


def _in_zone(moment: datetime, key: str) -> datetime:
    try:
        zone = ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        raise InvalidInput(
            f"The database holds a moment in the time zone {key!r}, which this machine does not "
            f"know. Install the package tzdata."
        ) from None
    there = moment.replace(tzinfo=zone)
    # If the zone's rules have changed since, keep the moment, not the wall-clock time.
    return there if there.utcoffset() == moment.utcoffset() else moment.astimezone(zone)


def _decode_time(stored: Any) -> time:
    text, fold = stored if isinstance(stored, list) else (stored, 0)
    return _with_exact_offset(time.fromisoformat(text), text).replace(fold=fold)


# Python's parser treats an offset of less than a second as UTC.
_TINY_OFFSET = re.compile(r"([+-])00:00:00\.(\d{6})$")
_M = TypeVar("_M", datetime, time)


def _with_exact_offset(moment: _M, text: str) -> _M:
    tiny = _TINY_OFFSET.search(text)
    if tiny is None:
        return moment
    offset = timedelta(microseconds=int(tiny[1] + tiny[2]))
    return moment.replace(tzinfo=timezone(offset))


# `datetime` must come before `date`, its parent class.
_FORMS: tuple[tuple[type, str, Callable[[Any], Any], Callable[[Any], Any]], ...] = (
    (datetime, "datetime", _encode_datetime, _decode_datetime),
    (date, "date", date.isoformat, date.fromisoformat),
    (time, "time", _encode_time, _decode_time),
    (
        timedelta,
        "timedelta",
        lambda span: [span.days, span.seconds, span.microseconds],
        lambda parts: timedelta(*parts),
    ),
    (Decimal, "decimal", str, Decimal),
    (UUID, "uuid", str, UUID),
    (bytes, "bytes", lambda data: base64.b64encode(data).decode("ascii"), base64.b64decode),
)

OWN = {
    name: Serializer(kind=kind, name=name, encode=encode, decode=decode)
    for kind, name, encode, decode in _FORMS
}

# Written by `typed_json` itself, which tracks the path to nested values.
STRUCTURES: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": lambda digits: int(digits, 16),
    "tuple": tuple,
    "dict": dict,
    "enum": lambda parts: enum_names.member_of(*parts),
    # The cursors of waiting nodes; users' values never have these types.
    "approval": lambda key: key,
    "moment": lambda moment: moment,
    "event_wait": lambda key: key,
}

STORED_ANYWAY: frozenset[type] = frozenset(
    {NoneType, bool, int, float, str, list, tuple, dict, Enum, IntEnum, StrEnum, Flag, IntFlag}
    | {own.kind for own in OWN.values()}
)


def of_parent(value: object) -> Serializer | None:
    """Return the serializer of a parent class of `value`, if the loaded value is equal.

    A datetime of freezegun or a UUID of asyncpg is loaded as an equal plain one. A pandas Timestamp
    with nanoseconds would lose them.
    """
    own = next((own for own in OWN.values() if isinstance(value, own.kind)), None)
    return own if own is not None and _loads_equal(own, value) else None


def _loads_equal(own: Serializer, value: object) -> bool:
    try:
        return bool(own.decode(own.encode(value)) == value)
    except ValueError:  # pandas' NaT is a datetime whose text is not a date
        return False
