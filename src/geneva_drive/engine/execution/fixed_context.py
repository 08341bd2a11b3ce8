"""The context that steps see, as an immutable mapping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from geneva_drive.errors import GenevaDriveError


class ContextIsFixed(GenevaDriveError, TypeError):
    """A step tried to change the context."""

    def __init__(self) -> None:
        super().__init__(
            "The context is fixed when the workflow is created, and a step does not change it. "
            "Keep what a step finds out with keep_result=True, for self.result_of(...) to read, "
            "or in your application's own tables."
        )


class FixedContext(Mapping[str, Any]):
    """Reads like a dictionary; every method that would change it raises `ContextIsFixed`."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}

    def __repr__(self) -> str:
        return repr(self._values)

    def copy(self) -> dict[str, Any]:
        return self._values.copy()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise ContextIsFixed

    # The methods of a dictionary that a mapping lacks, so that they raise a clear error.
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
