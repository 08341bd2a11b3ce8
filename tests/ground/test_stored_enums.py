from __future__ import annotations

import sys
from enum import Enum, Flag, IntEnum, IntFlag, StrEnum
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput, UnknownEnum, UnknownEnumMember
from geneva_drive.serialization.typed_json import dump, load


class Color(Enum):
    RED = "red"
    CRIMSON = "red"  # noqa: PIE796 - an alias
    BLUE = ("b", 1)


class Size(StrEnum):
    SMALL = "S"


class Level(IntEnum):
    LOW = 1


class Right(Flag):
    READ = 1
    WRITE = 2


class Mode(IntFlag):
    EXECUTE = 1


class Planet(Enum):
    def __init__(self, mass: float, radius: float) -> None:
        self.density = mass / radius

    EARTH = (6.0, 2.0)


class Shop:
    class Door(Enum):
        OPEN = None


class Odd(Enum):
    THING = object()


class Successor(Enum):
    NEW = "new"

    @classmethod
    def _missing_(cls, value: object) -> Successor | None:
        return cls.NEW if value == "old" else None


Former = Successor


@pytest.mark.parametrize(
    "member",
    [
        Color.RED,
        Color.CRIMSON,
        Color.BLUE,
        Size.SMALL,
        Level.LOW,
        Right.READ,
        Right.READ | Right.WRITE,
        Right(0),
        Mode.EXECUTE,
        Mode.EXECUTE | 64,
        Planet.EARTH,
        Shop.Door.OPEN,
    ],
    ids=str,
)
def test_a_member_of_an_enum_comes_back_as_itself(member: Enum) -> None:
    back = load(dump({"deep": [member]}))

    assert back == {"deep": [member]}
    assert type(back["deep"][0]) is type(member)


def test_members_may_be_keys() -> None:
    assert load(dump({Size.SMALL: 1, Level.LOW: 2})) == {Size.SMALL: 1, Level.LOW: 2}
    assert [type(key) for key in load(dump({Size.SMALL: 1}))] == [Size]


@pytest.mark.parametrize(
    ("member", "name", "value"),
    [
        (Color.RED, "Color", '"red"'),
        (Color.BLUE, "Color", '{"$type":"tuple","value":["b",1]}'),
        (Level.LOW, "Level", "1"),
        (Shop.Door.OPEN, "Shop.Door", "null"),
    ],
    ids=str,
)
def test_the_stored_form_of_a_member_is_fixed(member: Enum, name: str, value: str) -> None:
    assert dump(member) == f'{{"$type":"enum","value":["{__name__}:{name}",{value}]}}'


def test_an_enum_that_was_renamed_is_found_by_its_old_name() -> None:
    assert load(f'{{"$type":"enum","value":["{__name__}:Former","new"]}}') is Successor.NEW


def test_an_enum_may_name_the_successor_of_a_member_that_is_gone() -> None:
    assert load(f'{{"$type":"enum","value":["{__name__}:Successor","old"]}}') is Successor.NEW


def test_a_member_that_is_gone_is_named() -> None:
    with pytest.raises(UnknownEnumMember) as caught:
        load(f'{{"$type":"enum","value":["{__name__}:Color","green"]}}')

    assert str(caught.value) == (
        f"The database holds 'green' of the Enum '{__name__}:Color', which has no such member. "
        f"Restore the member, or return its successor from the Enum's _missing_."
    )
    assert (caught.value.enum_name, caught.value.value) == (f"{__name__}:Color", "green")


@pytest.mark.parametrize(
    "name",
    [
        f"{__name__}:Gone",
        f"{__name__}:Shop",
        f"{__name__}:Shop.Gone",
        f"{__name__}:Color.RED",
        f"{__name__}:test_members_may_be_keys",
        f"{__name__}:",
        "enum:Enum",
        "os:system",
    ],
)
def test_what_is_no_enum_with_members_is_refused(name: str) -> None:
    with pytest.raises(UnknownEnum) as caught:
        load(f'{{"$type":"enum","value":["{name}","x"]}}')

    assert str(caught.value) == (
        f"The database holds a member of the Enum {name!r}, and no module imported in this process "
        f"defines it. Import {name.partition(':')[0]!r} in the app. If the Enum was moved or "
        f"renamed, keep its old name as an alias."
    )
    assert caught.value.enum_name == name


def test_a_module_is_not_imported_because_a_row_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "never_imported.py").write_text("import enum\nclass Color(enum.Enum): RED = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UnknownEnum):
        load('{"$type":"enum","value":["never_imported:Color",1]}')

    assert "never_imported" not in sys.modules


def test_a_module_is_not_asked_for_what_it_would_load_on_demand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    lazy = ModuleType("lazy_module")
    vars(lazy)["__getattr__"] = asked.append
    monkeypatch.setitem(sys.modules, "lazy_module", lazy)

    with pytest.raises(UnknownEnum):
        load('{"$type":"enum","value":["lazy_module:Color",1]}')

    assert asked == []


def test_an_enum_of_a_function_cannot_be_stored() -> None:
    class Local(Enum):
        HERE = 1

    with pytest.raises(InvalidInput) as caught:
        dump({"where": [Local.HERE]}, "The cursor")

    assert str(caught.value) == (
        "The cursor['where'][0] is a member of the Enum "
        "test_an_enum_of_a_function_cannot_be_stored.<locals>.Local, which is not found under that "
        f"name in the module {__name__}. Define it there at the top level, or in a class."
    )


def test_an_enum_that_hides_behind_the_name_of_another_cannot_be_stored() -> None:
    make: Any = Enum
    other = make("Color", {"RED": "red"}, module=__name__)

    with pytest.raises(InvalidInput) as caught:
        dump(other.RED, "The cursor")

    assert str(caught.value) == (
        "The cursor is a member of the Enum Color, which is not found under that name in the "
        f"module {__name__}. Define it there at the top level, or in a class."
    )


def test_a_member_whose_value_cannot_be_stored_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        dump([Odd.THING], "The cursor")

    assert str(caught.value) == (
        "The cursor[0].value is of type object, which cannot be stored as JSON. Use text, "
        "numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, "
        "bytes or Enum members. For a record, store its key; for other types, call "
        "gd.register_serializer."
    )
