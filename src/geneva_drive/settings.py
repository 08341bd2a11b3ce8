"""The settings of a Drive: keywords of `configure`, or `GENEVA_<NAME>` in the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from geneva_drive import limit as limits
from geneva_drive.clock import Clock, SystemClock
from geneva_drive.durations import parse_duration
from geneva_drive.errors import InvalidInput
from geneva_drive.limit import Limit

DEFAULT_DATABASE_URL = "sqlite:///geneva.db"

_VARIABLES = ("GENEVA_APP", "GENEVA_DATABASE_URL", "GENEVA_DEBUG")  # those that are no settings
_ALIKE = 0.8


def _count(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{value!r} is not a whole number from 0 up")
    return number


def _span(value: object) -> timedelta:
    span = parse_duration(value)
    if not span:
        raise ValueError(f"{value!r} must be longer than zero")
    return span


def _optional_span(value: object) -> timedelta | None:
    return None if value in (None, "", "off") else _span(value)


def _name_prefix(value: object) -> str:
    if not isinstance(value, str) or not value.isidentifier() or len(value) > 30:  # noqa: PLR2004 - index names stay under MySQL's 64
        raise ValueError(f"{value!r} is not a table prefix: letters, digits, _, at most 30 long")
    return value


def _durability(value: object) -> str:
    if value not in ("normal", "full"):
        raise ValueError(f"{value!r} is neither 'normal' nor 'full'")
    return str(value)


def _switch(value: object) -> bool:
    switches = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
    answer = switches.get(str(value).lower())
    if answer is None:
        raise ValueError(f"{value!r} is neither 'on' nor 'off'")
    return answer


def _queue_limits(value: object) -> Mapping[str, Limit]:
    """Read limits by queue, or text such as "mail=5,bulk=100/m"; a queue may have two parts."""
    given = _written_limits(value) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise ValueError(f"{value!r} is no dictionary of queues and their gd.Limit")  # noqa: TRY004 - one kind of error for callers
    for queue, limit in given.items():
        if not isinstance(queue, str) or not 0 < len(queue) <= limits.MAX_KEY_LENGTH:
            raise ValueError(f"{queue!r} is not the name of a queue")
        if not isinstance(limit, Limit):
            raise ValueError(f"{queue}: {limit!r} is no gd.Limit")  # noqa: TRY004
        if limit.key is not None:
            raise ValueError(f"{queue}: the limit of a queue has no key, as the queue is its key")
        try:
            limits.check(limit)
        except ValueError as error:
            raise ValueError(f"{queue}: {error}") from None
    return MappingProxyType(dict(given))


def _written_limits(text: str) -> dict[str, Limit]:
    found: dict[str, Limit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        queue, _, bound = (word.strip() for word in part.partition("="))
        known = found.get(queue, Limit())
        if bound.isdecimal():
            found[queue] = replace(known, concurrency=int(bound))
        elif "/" in bound:
            found[queue] = replace(known, rate=bound)
        else:
            raise ValueError(f"{part!r} is not written as queue=5 or queue=100/m")
    return found


def _as_is(value: object) -> Any:
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a Drive behaves; every field is documented in `docs/settings.md`."""

    table_prefix: str = field(default="geneva_drive_", metadata={"parse": _name_prefix})
    lease: timedelta = field(default=timedelta(seconds=60), metadata={"parse": _span})
    heartbeat_interval: timedelta = field(default=timedelta(seconds=10), metadata={"parse": _span})
    poll_interval: timedelta = field(default=timedelta(seconds=1), metadata={"parse": _span})
    drain_timeout: timedelta = field(
        default=timedelta(seconds=30), metadata={"parse": parse_duration}
    )
    max_recoveries: int = field(default=3, metadata={"parse": _count})
    queue_limits: Mapping[str, Limit] = field(
        default_factory=lambda: MappingProxyType({}), metadata={"parse": _queue_limits}
    )
    retention: timedelta | None = field(default=None, metadata={"parse": _optional_span})
    max_cursor_size: int = field(default=131_072, metadata={"parse": _count})
    max_result_size: int = field(default=1_048_576, metadata={"parse": _count})
    max_payload_size: int = field(default=1_048_576, metadata={"parse": _count})
    sqlite_durability: str = field(default="normal", metadata={"parse": _durability})
    notify: bool = field(default=True, metadata={"parse": _switch})
    session_factory: Callable[[], Any] | None = field(default=None, metadata={"parse": _as_is})
    clock: Clock = field(default_factory=SystemClock, metadata={"parse": _as_is})

    def __post_init__(self) -> None:
        if self.heartbeat_interval * 2 > self.lease:
            raise InvalidInput(
                f"heartbeat_interval ({self.heartbeat_interval}) must be at most half of lease "
                f"({self.lease}), or one late heartbeat would cost a healthy worker its work."
            )

    @classmethod
    def read(cls, given: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
        """Take each setting from `given`, else from the environment, else its default."""
        parsers = {f.name: f.metadata["parse"] for f in fields(cls)}
        unknown = sorted(set(given) - set(parsers))
        if unknown:
            raise InvalidInput(
                f"There is no setting {unknown[0]!r}. The settings are: "
                f"database_url, {', '.join(sorted(parsers))}."
            )
        values: dict[str, Any] = {}
        for name, parse in parsers.items():
            variable = f"GENEVA_{name.upper()}"
            if name in given:
                values[name] = _parsed(name, parse, given[name])
            elif parse is not _as_is and variable in environment:
                values[name] = _parsed(variable, parse, environment[variable])
        return cls(**values)


def mistyped(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name variables that nothing reads and that look like one of ours, each with that one."""
    settings = [f.name for f in fields(Settings) if f.metadata["parse"] is not _as_is]
    known = [*_VARIABLES, *(f"GENEVA_{name.upper()}" for name in settings)]
    for name in sorted(environment):
        # What only begins like one is somebody's own: GENEVA_APP_NAME, say.
        if name.startswith("GENEVA_") and not any(name.startswith(one) for one in known):
            yield from ((name, meant) for meant in get_close_matches(name, known, 1, _ALIKE))


def _parsed(name: str, parse: Callable[[object], Any], value: object) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        raise InvalidInput(f"Setting {name}: {error}.") from error


def database_url_from_environment() -> str:
    return os.environ.get("GENEVA_DATABASE_URL") or DEFAULT_DATABASE_URL
