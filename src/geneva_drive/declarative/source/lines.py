"""The lines on which the parts of a JSON text begin."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each part by its path, such as `$.steps[0].id`.

    The line of a key counts for its value.
    """
    found = {"$": 1}
    stack: list[_Open] = []
    line, read = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", read, token.start())
        read = token.start()
        word = token[0]
        if word in "}]":
            if stack:
                stack.pop()
        elif word == ",":
            if stack:
                stack[-1].advance()
        elif stack and stack[-1].awaits_key:
            stack[-1].take_key(word)
            found.setdefault(stack[-1].path, line)
        elif word != ":":
            path = stack[-1].path if stack else "$"
            found.setdefault(path, line)
            if word in "{[":
                stack.append(_Open(path, is_object=word == "{"))
    return found


def line_of(path: str, lines: Mapping[str, int]) -> int:
    """Return the line of a path, or of the nearest part around it that the text has."""
    while path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["))]
        if not path:
            return 1
    return lines[path]


class _Open:
    """An object or list that is not closed yet."""

    def __init__(self, base: str, *, is_object: bool) -> None:
        self._base = base
        self._is_object = is_object
        self._index = 0
        self.awaits_key = is_object
        self.path = base if is_object else f"{base}[0]"

    def take_key(self, word: str) -> None:
        self.path = f"{self._base}.{word[1:-1]}"
        self.awaits_key = False

    def advance(self) -> None:
        self._index += 1
        self.awaits_key = self._is_object
        if not self._is_object:
            self.path = f"{self._base}[{self._index}]"
