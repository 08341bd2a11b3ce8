"""The settings of a Drive: keywords of `configure`, or `GENEVA_<NAME>` in the environment."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from geneva_drive import checks
from geneva_drive.clock import Clock, SystemClock, checked_clock
from geneva_drive.display import shown
from geneva_drive.durations import describe
from geneva_drive.errors import InvalidInput
from geneva_drive.limit import MAX_KEY_LENGTH, Limit, Rate, check_limit, parse_rate

DEFAULT_DATABASE_URL = "sqlite:///geneva.db"
# The queue of the library's own workflows, which every worker serves in addition to its queues.
OWN_QUEUE = "geneva.bulk"

_VARIABLES = ("GENEVA_APP", "GENEVA_DATABASE_URL", "GENEVA_DEBUG")  # read elsewhere
_ALIKE = 0.8
_SHORTEST_SESSION_SECRET = 32  # bytes: as many as the hash has
_SHORTEST_SECRET = 24  # bytes; the least that Standard Webhooks recommends


# Each function parses one setting; `name` is its name as the user wrote it.
_Parser = Callable[[str, object], Any]


def _is_unset(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value)


def _count(name: str, value: object) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    return checks.whole_number(name, number, at_least=0)


def _optional_span(name: str, value: object) -> timedelta | None:
    is_off = value is None or (isinstance(value, str) and value in ("", "off"))
    return None if is_off else checks.positive_duration(name, value)


def _table_prefix(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.isidentifier() or len(value) > 30:  # noqa: PLR2004 - index names stay under MySQL's 64
        raise InvalidInput(
            f"{name} must be at most 30 letters, digits and underscores, got {shown(value)}."
        )
    return value


def _durability(name: str, value: object) -> str:
    return checks.choice(name, value, ("normal", "full"))


def _switch(name: str, value: object) -> bool:
    switches = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}
    answer = switches.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(answer, bool):
        raise InvalidInput(f"{name} must be 'on' or 'off', got {shown(value)}.")
    return answer


def _public_url(name: str, value: object) -> str | None:
    if _is_unset(value):
        return None
    is_url = isinstance(value, str) and value.startswith(("http://", "https://"))
    if not isinstance(value, str) or not is_url or not value.isprintable() or " " in value:
        raise InvalidInput(
            f"{name} must be the address under which people reach this installation, such as "
            f"'https://shop.example/geneva', got {shown(value)}."
        )
    return value.rstrip("/")


def _webhook_secret(name: str, value: object) -> str | None:
    if _is_unset(value):
        return None
    text = value.removeprefix("whsec_") if isinstance(value, str) else ""
    try:
        key = base64.b64decode(text + "==", validate=False)
    except ValueError:
        key = b""
    if len(key) < _SHORTEST_SECRET:
        # The value is not shown: it is a secret.
        raise InvalidInput(
            f"{name} must be a key of at least {_SHORTEST_SECRET} bytes in base64, such as "
            f"'whsec_...'."
        )
    return str(value)


def _session_secret(name: str, value: object) -> str | None:
    if _is_unset(value):
        return None
    is_text = isinstance(value, str) and checks.text_fault(value) is None
    if not is_text or len(str(value).encode()) < _SHORTEST_SESSION_SECRET:
        # The value is not shown: it is a secret.
        raise InvalidInput(
            f"{name} must be a random text of at least {_SHORTEST_SESSION_SECRET} bytes, such as "
            f"that of `openssl rand -hex 32`."
        )
    return str(value)


def _hosts(name: str, value: object) -> frozenset[str]:
    """Return hosts in lower case, from a list or text such as "localhost,10.0.0.5"."""
    given: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a list of hosts, got {shown(value)}.")
    hosts = [each.strip().lower() if isinstance(each, str) else each for each in given]
    for host in hosts:
        if not isinstance(host, str) or any(letter in host for letter in "/@* "):
            raise InvalidInput(
                f"{name} must be names or addresses of hosts, without a scheme, got {shown(host)}."
            )
    return frozenset(host.strip("[]") for host in hosts if host)


def _field_names(name: str, value: object) -> frozenset[str]:
    """Return names of fields, from a list or text such as "card,password"."""
    given: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be a list of names of fields, got {shown(value)}.")
    names = [each.strip() if isinstance(each, str) else each for each in given]
    for one in names:
        if not isinstance(one, str):
            raise InvalidInput(f"{name} must be names of fields, got {shown(one)}.")
    return frozenset(one for one in names if one)


def _queue_limits(name: str, value: object) -> Mapping[str, Limit]:
    """Return limits by queue, from a dictionary or text such as "mail=5,mail=100/m,bulk=2"."""
    given = _written_limits(name, value) if isinstance(value, str) else value
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"{name} must be a dictionary of queues and gd.Limit, got {shown(value)}."
        )
    for queue, limit in given.items():
        checks.text(f"{name}: the name of a queue", queue, longest=MAX_KEY_LENGTH)
        owner = f"{name}: the limit of queue {shown(queue)}"
        if not isinstance(limit, Limit):
            raise InvalidInput(f"{owner} must be a gd.Limit, got {shown(limit)}.")
        if limit.key is not None:
            raise InvalidInput(f"{owner} must not have a key: the queue is its key.")
        check_limit(owner, limit)
    return MappingProxyType(dict(given))


def _written_limits(name: str, text: str) -> dict[str, Limit]:
    found: dict[str, Limit] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        queue, _, bound = (word.strip() for word in part.partition("="))
        known = found.get(queue, Limit())
        if bound.isdecimal():
            found[queue] = replace(known, concurrency=int(bound))
        elif "/" in bound:
            found[queue] = replace(known, rate=bound)
        else:
            raise InvalidInput(f"{name} must be written queue=5 or queue=100/m, got {shown(part)}.")
    return found


def _optional_text(name: str, value: object) -> str | None:
    return None if _is_unset(value) else checks.text(name, value)


def _rate_limit(name: str, value: object) -> Rate | None:
    if value is None or isinstance(value, Rate) or value in ("", "off"):
        return value if isinstance(value, Rate) else None
    try:
        return parse_rate(value if isinstance(value, str) else shown(value))
    except ValueError:
        raise InvalidInput(
            f"{name} must be requests per time, such as '10/s' or '100/m', got {shown(value)}."
        ) from None


def _session_factory(name: str, value: object) -> object:
    if value is not None and not callable(value):
        raise InvalidInput(
            f"{name} must be a callable that returns a session, such as a sessionmaker, got "
            f"{shown(value)}."
        )
    return value


_PARSERS: dict[str, _Parser] = {
    "table_prefix": _table_prefix,
    "lease": checks.positive_duration,
    "heartbeat_interval": checks.positive_duration,
    "poll_interval": checks.positive_duration,
    "drain_timeout": checks.duration,
    "max_recoveries": _count,
    "queue_limits": _queue_limits,
    "stale_after": _optional_span,
    "retention": _optional_span,
    "resume_timeout": _optional_span,
    "resume_auto_escalate": _switch,
    "auto_resume_after_approval": _switch,
    "resume_worker_interval": checks.positive_duration,
    "public_url": _public_url,
    "jwt_secret": _optional_text,
    "jwks": _optional_text,
    "jwt_issuer": _optional_text,
    "jwt_audience": _optional_text,
    "session_secret": _session_secret,
    "max_body_size": _count,
    "rate_limit": _rate_limit,
    "webhook_secret": _webhook_secret,
    "webhook_allowed_hosts": _hosts,
    "masked_fields": _field_names,
    "max_cursor_size": _count,
    "max_result_size": _count,
    "max_payload_size": _count,
    "sqlite_durability": _durability,
    "notify": _switch,
    "session_factory": _session_factory,
    "clock": checked_clock,
}
# The other settings can be set in the environment.
_ONLY_KEYWORDS = ("session_factory", "clock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a Drive behaves; every field is documented in `docs/settings.md`."""

    table_prefix: str = "geneva_drive_"
    lease: timedelta = timedelta(seconds=60)
    heartbeat_interval: timedelta = timedelta(seconds=10)
    poll_interval: timedelta = timedelta(seconds=1)
    drain_timeout: timedelta = timedelta(seconds=30)
    max_recoveries: int = 3
    queue_limits: Mapping[str, Limit] = field(default_factory=lambda: MappingProxyType({}))
    stale_after: timedelta | None = None
    retention: timedelta | None = None
    resume_timeout: timedelta | None = None
    resume_auto_escalate: bool = False
    auto_resume_after_approval: bool = True
    resume_worker_interval: timedelta = timedelta(minutes=5)
    public_url: str | None = None
    jwt_secret: str | None = field(default=None, repr=False)
    jwks: str | None = None
    jwt_issuer: str | None = None
    jwt_audience: str | None = None
    session_secret: str | None = field(default=None, repr=False)
    max_body_size: int = 2_097_152
    rate_limit: Rate | None = None
    webhook_secret: str | None = field(default=None, repr=False)
    webhook_allowed_hosts: frozenset[str] = frozenset()
    masked_fields: frozenset[str] = frozenset()
    max_cursor_size: int = 131_072
    max_result_size: int = 1_048_576
    max_payload_size: int = 1_048_576
    sqlite_durability: str = "normal"
    notify: bool = True
    session_factory: Callable[[], Any] | None = None
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        if self.heartbeat_interval * 2 > self.lease:
            third = self.lease / 3
            seconds = third // timedelta(seconds=1)
            way_out = f"{seconds}s" if seconds else describe(third)
            raise InvalidInput(
                f"heartbeat_interval ({describe(self.heartbeat_interval)}) must be at most half of "
                f"lease ({describe(self.lease)}), or one late heartbeat would cost a healthy "
                f"worker its work. Also set heartbeat_interval={way_out!r}, or a longer lease."
            )

    @classmethod
    def read(cls, given: Mapping[str, object], environment: Mapping[str, str]) -> Settings:
        """Read each setting from `given`, else from the environment, else use its default."""
        unknown = sorted(set(given) - set(_PARSERS))
        if unknown:
            known = ["database_url", *sorted(_PARSERS)]
            close = get_close_matches(unknown[0], known, 1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise InvalidInput(
                f"There is no setting {shown(unknown[0])}.{meant} The settings are: "
                f"{', '.join(known)}."
            )
        values: dict[str, Any] = {}
        for name, parse in _PARSERS.items():
            variable = f"GENEVA_{name.upper()}"
            if name in given:
                values[name] = parse(f"Setting {name}", given[name])
            elif name not in _ONLY_KEYWORDS and variable in environment:
                values[name] = parse(f"Setting {variable}", environment[variable])
        return cls(**values)


def mistyped(environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield unknown environment variables that resemble a setting, each with that setting."""
    settings = [name for name in _PARSERS if name not in _ONLY_KEYWORDS]
    known = [*_VARIABLES, *(f"GENEVA_{name.upper()}" for name in settings)]
    for name in sorted(environment):
        # A longer name, such as GENEVA_APP_NAME, is the user's own.
        if name.startswith("GENEVA_") and not any(name.startswith(one) for one in known):
            yield from ((name, meant) for meant in get_close_matches(name, known, 1, _ALIKE))


def database_url_from_environment() -> str:
    return os.environ.get("GENEVA_DATABASE_URL") or DEFAULT_DATABASE_URL
