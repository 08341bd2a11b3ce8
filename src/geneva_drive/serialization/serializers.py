"""The serializers that users register for their own types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, UnknownStoredType
from geneva_drive.serialization.stored_types import OWN, STORED_ANYWAY, STRUCTURES, Serializer

T = TypeVar("T")

_registered: dict[str, Serializer] = {}
_by_kind: dict[type, Serializer] = {own.kind: own for own in OWN.values()}


def register_serializer(
    kind: type[T],
    *,
    encode: Callable[[T], Any],
    decode: Callable[[Any], T],
    name: str | None = None,
) -> None:
    """Store values of `kind` in contexts, results and cursors.

    `encode` returns a value that can be stored, and `decode` restores the original from it. The
    database stores `name` for the type, by default its module and name. Keep it when the class
    moves, or existing rows cannot be read.

    Subclasses of `kind` are not included, because they would be loaded as instances of `kind`.
    Registering a class again replaces its serializer. Register it in a module that every process
    imports, web servers as well as workers.

    >>> import geneva_drive as gd
    >>> from fractions import Fraction
    >>> gd.register_serializer(
    ...     Fraction,
    ...     encode=lambda share: [share.numerator, share.denominator],
    ...     decode=lambda parts: Fraction(*parts),
    ...     name="fraction",
    ... )
    >>> from geneva_drive.testing import instance
    >>> class Payout(gd.Workflow):
    ...     @gd.step
    ...     def pay(self):
    ...         return 300 * self.context["share"]
    >>> instance(Payout, context={"share": Fraction(1, 3)}).pay()
    Fraction(100, 1)
    """
    _check(kind, encode, decode, name)
    stored_as = _full_name_of(kind) if name is None else name
    _refuse_taken(kind, stored_as)
    former = [known for known in _registered.values() if _is_same(known.kind, kind)]
    serializer = Serializer(kind=kind, name=stored_as, encode=encode, decode=decode)
    # Add before deleting: another thread may be reading or writing such a value now.
    _registered[stored_as] = _by_kind[kind] = serializer
    for known in former:
        if known.name != stored_as:
            del _registered[known.name]
        if known.kind is not kind:
            del _by_kind[known.kind]


def of(kind: type) -> Serializer | None:
    """Return the serializer of exactly this type, registered or built in."""
    return _by_kind.get(kind)


def decode(name: str, stored: Any) -> Any:
    """Return the value for a type name and a stored form."""
    if name in STRUCTURES:
        return STRUCTURES[name](stored)
    serializer = OWN.get(name) or _registered.get(name)
    if serializer is None:
        raise UnknownStoredType(name)
    return serializer.decode(stored)


def _check(kind: object, encode: object, decode: object, name: object) -> None:
    if not isinstance(kind, type):
        raise InvalidInput(f"A serializer is registered for a class, not for {shown(kind)}.")
    if kind in STORED_ANYWAY:
        raise InvalidInput(
            f"{kind.__qualname__} is stored by GenevaDrive itself and takes no other serializer. "
            f"Register a class of your own."
        )
    for given, function in (("encode", encode), ("decode", decode)):
        if not callable(function):
            raise InvalidInput(
                f"{given} of the serializer of {_full_name_of(kind)} is not callable: "
                f"{shown(function)}."
            )
    if name is not None:
        checks.text(f"The name of the serializer of {_full_name_of(kind)}", name)


def _refuse_taken(kind: type, name: str) -> None:
    if name in OWN or name in STRUCTURES:
        raise InvalidInput(
            f"The name {name!r} is one of GenevaDrive's own types. Give the serializer of "
            f"{_full_name_of(kind)} another name."
        )
    holder = _registered.get(name)
    if holder is not None and not _is_same(holder.kind, kind):
        raise InvalidInput(
            f"The name {name!r} is taken by the serializer of {_full_name_of(holder.kind)}. Give "
            f"the serializer of {_full_name_of(kind)} another name."
        )


def _is_same(one: type, other: type) -> bool:
    # A reloaded module has a new class object under the same name.
    return _full_name_of(one) == _full_name_of(other)


def _full_name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
