"""Values that no caller should pass, and the calls of the public API that get them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from random import Random
from typing import Any, NoReturn
from uuid import UUID

import geneva_drive as gd


class Stranger:
    """An object of a class that the library does not know."""


class Hostile:
    """An object that cannot be shown, compared, hashed, counted or asked for its truth."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("hands off")

    __repr__ = __str__ = __eq__ = __bool__ = __len__ = _refuse
    __hash__ = __lt__ = __gt__ = __float__ = __int__ = __index__ = __format__ = _refuse


class Echo:
    """An object that seems to have every attribute, as those of mocks and proxies do."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__wrapped__":
            raise AttributeError(name)
        return self


class Colour(Enum):
    RED = "red"


class Text(str):
    """A text of a subclass."""


def anything(*_: Any, **__: Any) -> None:
    """A function that can be called in every way."""


async def coroutine(self: Any) -> None: ...


def generator(self: Any) -> Iterator[int]:
    yield 1


def endless() -> list[Any]:
    inner: list[Any] = []
    inner += [inner, inner]
    return inner


STRANGE_TEXTS = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "\n",
    "{}",
    "{0.x}",
    "{",
    "%s",
    "'",
    "ä" * 300,
]
SINGLES: Sequence[Any] = [
    *STRANGE_TEXTS,
    "x" * 100_000,
    Text("mail"),
    b"mail",
    bytearray(b"mail"),
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    10**5000,
    0.5,
    -0.0,
    1e308,
    float("inf"),
    float("nan"),
    3 + 4j,
    Decimal("NaN"),
    Decimal(3),
    timedelta(days=-1),
    timedelta.max,
    datetime(2026, 1, 1),  # noqa: DTZ001 - one of the things that are refused
    datetime.max.replace(tzinfo=UTC),
    UUID(int=7),
    Path("somewhere"),
    ...,
    NotImplemented,
    object(),
    Stranger(),
    Hostile(),
    Echo(),
    Colour.RED,
    Stranger,
    Hostile,
    Colour,
    ValueError,
    ValueError("no"),
    gd.Workflow,
    gd.PREVIOUS,
    gd.StepState.FAILED,
    gd.HeroRef("Invoice", "7"),
    gd.Limit(key="mail", concurrency=2),
    gd.Limit(concurrency=Hostile()),  # type: ignore[arg-type]  # that is the point
    gd.Retry(),
    gd.ExceptionPolicy("cancel"),
    gd.removed_step(),
    anything,
    coroutine,
    generator,
    lambda: None,
    lambda self: None,
    print,
    iter([]),
    range(3),
    [],
    (),
    {},
    set(),
    [None],
    [[]],
    ["mail", "mail"],
    ("a", 1),
    {"a"},
    {"a": 1},
    {1: 2},
    {"": None},
    {"\x00": "\ud800"},
    {"a": Hostile()},
    [Hostile()],
    endless(),
]


def junk(random: Random) -> Any:
    """Return something that is mostly wrong wherever it is passed."""
    match random.randrange(12):
        case 0:
            return [_single(random) for _ in range(random.randrange(3))]
        case 1:
            return {_text(random): _single(random) for _ in range(random.randrange(3))}
        case _:
            return _single(random)


def _single(random: Random) -> Any:
    match random.randrange(6):
        case 0:
            return _text(random)
        case 1:
            return random.choice([-1, 1]) * random.getrandbits(random.choice([4, 40, 400]))
        case _:
            return random.choice(SINGLES)


def _text(random: Random) -> str:
    return "".join(random.choice("ab.:/-_{}\x00\t\ud800é🐛") for _ in range(random.randrange(5)))


@dataclass(frozen=True, slots=True)
class Call:
    """A public function, and what to do with what it returns."""

    name: str
    of: Callable[[], Callable[..., Any]]  # found anew for each call: a handle may have ended
    keywords: Sequence[str] = ()  # of its **keywords
    then: Callable[[Any], object] = anything

    def __str__(self) -> str:
        return self.name


def arguments(random: Random, call: Call) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments whose number and names are right, and whose values are junk."""
    by_place: list[Any] = []
    by_name: dict[str, Any] = {}
    for parameter in inspect.signature(call.of()).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            names = random.sample(call.keywords, random.randrange(3) % (1 + len(call.keywords)))
            by_name |= {name: junk(random) for name in names}
        elif parameter.default is not parameter.empty and random.randrange(2):
            continue
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            by_place.append(junk(random))
        else:
            by_name[parameter.name] = junk(random)
    return by_place, by_name
