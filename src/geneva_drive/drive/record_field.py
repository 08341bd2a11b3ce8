"""Read-only attributes of handles and step executions that show a column of their row."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class RecordField(Generic[T]):
    """The field of the same name in the owner's `_record`."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else getattr(instance._record, self._name)

    def __set__(self, instance: object, value: Any) -> None:
        raise AttributeError(f"{self._name!r} is read-only.")
