"""Users' values in messages: cut to a readable length and safe to print."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

_LONGEST = 200
_CUT = "..."


def shown(value: object, longest: int = _LONGEST) -> str:
    """Return the `repr` of a value as one line of printable characters, at most `longest`.

    It never raises, whatever the value's own `__repr__` does. It reads only the shown part of a
    list or dictionary.
    """
    text = _printable(_repr_prefix(value, longest))
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def short_name(error: str) -> str:
    """Return a stored exception class, or a text that begins with one, without `builtins.`."""
    return error.removeprefix("builtins.")


def moment_words(moment: datetime | None) -> str:
    """Return a moment in UTC as sentences name it."""
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC") if moment else "an unknown time"


def _repr_prefix(value: object, longest: int) -> str:
    """Return the repr, or a prefix of it that is longer than `longest`."""
    text = ""
    try:
        for piece in _pieces(value, longest):
            text += piece
            if len(text) > longest:
                break
    except RecursionError:  # lists within lists
        text += _CUT
    return text[: longest + 1]


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _pieces(value: object, longest: int) -> Iterator[str]:
    write = _WRITERS.get(type(value))  # not for a subclass, which may have its own `__repr__`
    if write is None:
        yield _own_repr(value)
    else:
        yield from write(value, longest)


def _own_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything, and the message matters more
        return f"<{type(value).__name__} that cannot be put into words>"


def _text(value: Any, longest: int) -> Iterator[str]:
    yield repr(value[: longest + 1])


def _list(value: Iterable[Any], longest: int) -> Iterator[str]:
    return _listed("[", value, "]", longest)


def _tuple(value: tuple[Any, ...], longest: int) -> Iterator[str]:
    return _listed("(", value, ",)" if len(value) == 1 else ")", longest)


def _set(value: Iterable[Any], longest: int) -> Iterator[str]:
    return _listed("{", value, "}", longest) if value else iter(["set()"])


def _dict(value: Mapping[Any, Any], longest: int) -> Iterator[str]:
    before = "{"
    for key, item in value.items():
        yield before
        yield from _pieces(key, longest)
        yield ": "
        yield from _pieces(item, longest)
        before = ", "
    yield "}" if value else "{}"


def _listed(left: str, items: Iterable[Any], right: str, longest: int) -> Iterator[str]:
    yield left
    separator = ""
    for item in items:
        yield separator
        yield from _pieces(item, longest)
        separator = ", "
    yield right


_WRITERS: Mapping[type, Callable[[Any, int], Iterator[str]]] = {
    str: _text,
    bytes: _text,
    list: _list,
    tuple: _tuple,
    set: _set,
    dict: _dict,
}
