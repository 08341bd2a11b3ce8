"""A bound on what expressions may produce, so that no document makes a worker run out of memory.

A template may repeat a large value thousands of times, and JMESPath may double a list with each
part of an expression. Both are charged for what they produce.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 1_000_000  # values and characters per expression, or per value with templates


class Exhausted(Exception):
    """An expression would produce more than the budget has."""


class Budget:
    """The rest of the budget of one expression, or of one value with its templates."""

    def __init__(self) -> None:
        self._left = MOST

    def charge(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Exhausted

    def charge_value(self, value: Any) -> None:
        """Charge a value for its characters and every nested value, repetitions included.

        Stop when the budget is exhausted: nested lists may repeat one value a billion times.
        """
        rest = [value]
        while rest:
            each = rest.pop()
            self.charge(len(each) if isinstance(each, str) else 1)
            if isinstance(each, Mapping):
                rest.extend(each.values())
                self.charge(len(each))
            elif isinstance(each, list | tuple):
                rest.extend(each)
