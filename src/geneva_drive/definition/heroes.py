"""References to heroes, the records that workflows are about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

HeroLoader = Callable[[str], Any]

MAX_TYPE_LENGTH = 191
_MOST = 10**200

_loaders: dict[str, HeroLoader] = {}


@dataclass(frozen=True, slots=True, init=False)
class HeroRef:
    """A reference to a hero by type and id, wherever it is stored. A numeric id becomes text.

    >>> HeroRef("Invoice", "2026-117").id
    '2026-117'
    >>> HeroRef("Order", 1)
    HeroRef(type='Order', id='1')
    """

    type: str
    id: str

    def __init__(self, type: str, id: str | int) -> None:
        hero_id: object = id
        # Python refuses to convert a number with thousands of digits to text.
        if isinstance(id, int) and not isinstance(id, bool) and -_MOST <= id <= _MOST:
            hero_id = str(id)
        object.__setattr__(
            self, "type", checks.text("The type of a HeroRef", type, longest=MAX_TYPE_LENGTH)
        )
        object.__setattr__(self, "id", checks.text("The id of a HeroRef", hero_id))

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"HeroRef({self.type!r}, {self.id!r}) has no attribute {name!r}: no class or loader "
            f"for heroes of type {self.type!r} is known in this process. Import the mapped class, "
            f"write gd.Workflow[{self.type}], or register a loader with gd.register_hero."
        )


def register_hero(type_name: str, load: HeroLoader) -> None:
    """Load heroes of this type with `load(hero_id)`; None means that the hero was deleted.

    Registering a type again replaces its loader.
    """
    checks.text("The name of a hero type", type_name, longest=MAX_TYPE_LENGTH)
    if not callable(load):
        raise InvalidInput(f"The loader of hero type {type_name!r} is not callable: {shown(load)}.")
    _loaders[type_name] = load


def loader_of(type_name: str) -> HeroLoader | None:
    return _loaders.get(type_name)
