"""Actors: the people and programs whose rights are checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

MAX_ID_LENGTH = 255


@dataclass(frozen=True, slots=True, init=False)
class Actor:
    """The person or program that acts, with its roles and permissions.

    Pass it where a command takes `by`: the command then checks its roles and permissions.

    >>> Actor("ann@example.org", roles=["sales_manager"])
    Actor(id='ann@example.org', roles=('sales_manager',), permissions=())
    """

    id: str
    roles: tuple[str, ...]
    permissions: tuple[str, ...]

    def __init__(self, id: str, roles: Iterable[str] = (), permissions: Iterable[str] = ()) -> None:
        object.__setattr__(self, "id", checks.text("The id of an Actor", id, longest=MAX_ID_LENGTH))
        object.__setattr__(self, "roles", _names("roles", roles))
        object.__setattr__(self, "permissions", _names("permissions", permissions))


def _names(field: str, given: object) -> tuple[str, ...]:
    # A string is an iterable, too, of single letters.
    if isinstance(given, str):
        raise InvalidInput(
            f"The {field} of an Actor must be a list of names, got {shown(given)}. Write "
            f"{field}=[{shown(given)}]."
        )
    if not isinstance(given, Iterable):
        raise InvalidInput(f"The {field} of an Actor must be a list of names, got {shown(given)}.")
    names = (checks.text(f"Each name in the {field} of an Actor", name) for name in given)
    return tuple(dict.fromkeys(names))
