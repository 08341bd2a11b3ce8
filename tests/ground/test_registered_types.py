from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, UnknownStoredType
from geneva_drive.serialization.typed_json import dump, load


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Discounted(Money):
    pass


@dataclass(frozen=True)
class Basket:
    items: tuple[Money, ...]


class Rows(list[int]):
    pass


class Season(Enum):
    SPRING = 1


Point = namedtuple("Point", "x y")


@pytest.fixture(autouse=True, scope="module")
def _registered() -> None:
    gd.register_serializer(
        Money,
        encode=lambda money: (money.amount, money.currency),
        decode=lambda parts: Money(*parts),
    )
    gd.register_serializer(
        Basket, encode=lambda basket: basket.items, decode=Basket, name="tests-basket"
    )


moneys = st.builds(Money, st.decimals(allow_nan=False), st.text())


@given(
    st.recursive(
        moneys, lambda inner: st.lists(inner) | st.dictionaries(moneys, inner), max_leaves=10
    )
)
def test_a_registered_type_comes_back_at_any_depth(value: Any) -> None:
    assert load(dump(value)) == value


def test_a_serializer_may_give_what_has_a_serializer_itself() -> None:
    basket = Basket((Money(Decimal("1.10"), "EUR"),))

    assert load(dump([basket])) == [basket]


def test_a_type_is_stored_under_its_place_or_the_name_given() -> None:
    assert dump(Money(Decimal(1), "EUR")) == (
        f'{{"$type":"{__name__}.Money","value":'
        '{"$type":"tuple","value":[{"$type":"decimal","value":"1"},"EUR"]}}'
    )
    assert dump(Basket(())) == ('{"$type":"tests-basket","value":{"$type":"tuple","value":[]}}')


def test_kinds_of_built_in_types_may_be_registered() -> None:
    gd.register_serializer(Point, encode=list, decode=lambda parts: Point(*parts))
    gd.register_serializer(Rows, encode=list, decode=Rows)
    gd.register_serializer(
        Season, encode=lambda season: season.name, decode=lambda name: Season[name]
    )

    back = load(dump([Point(1, 2), Rows([3]), Season.SPRING]))

    assert back == [Point(1, 2), Rows([3]), Season.SPRING]
    assert [type(value) for value in back] == [Point, Rows, Season]
    assert dump(Season.SPRING) == f'{{"$type":"{__name__}.Season","value":"SPRING"}}'


ADVICE = (
    "which cannot be stored as JSON. Use text, numbers, booleans, None, lists, tuples, "
    "dictionaries, dates and times, Decimal, UUID, bytes or Enum members. For a record, store "
    "its key; for other types, call gd.register_serializer."
)


def test_a_subclass_is_not_taken_for_its_registered_parent() -> None:
    with pytest.raises(InvalidInput) as caught:
        dump(Discounted(Decimal(1), "EUR"), "The cursor")

    assert str(caught.value) == f"The cursor is of type Discounted, {ADVICE}"


def test_a_serializer_that_gives_what_cannot_be_stored_is_named() -> None:
    items: Any = ({1},)

    with pytest.raises(InvalidInput) as caught:
        dump({"b": Basket(items)}, "The cursor")

    assert str(caught.value) == (
        f"The cursor['b'] (encoded by the serializer 'tests-basket')[0] is of type set, {ADVICE}"
    )


def test_a_serializer_that_gives_the_value_itself_is_refused() -> None:
    class Mirror:
        pass

    gd.register_serializer(Mirror, encode=lambda mirror: mirror, decode=lambda mirror: mirror)

    with pytest.raises(InvalidInput) as caught:
        dump(Mirror(), "The cursor")

    assert str(caught.value) == (
        "The cursor contains itself, or is nested too deeply to be stored as JSON."
    )


def test_a_stored_type_that_nobody_registered_is_named() -> None:
    with pytest.raises(UnknownStoredType) as caught:
        load('[{"$type":"shop.Voucher","value":7}]')

    assert str(caught.value) == (
        "The database holds a value of type 'shop.Voucher', which is not registered in this "
        "process. Register it with gd.register_serializer in a module that the app imports."
    )
    assert caught.value.type_name == "shop.Voucher"


def _reloaded() -> type[Any]:
    """Another class object of the same module and name at each call, as after a reload."""

    class Ticket:
        pass

    return Ticket


def _written_as(mark: str) -> Callable[[object], str]:
    return lambda _: mark


def test_a_reloaded_class_replaces_the_one_before() -> None:
    before, after = _reloaded(), _reloaded()
    gd.register_serializer(before, encode=_written_as("before"), decode=str, name="ticket")

    gd.register_serializer(after, encode=_written_as("after"), decode=str.upper, name="ticket")

    assert dump(after()) == '{"$type":"ticket","value":"after"}'
    assert load('{"$type":"ticket","value":"before"}') == "BEFORE"
    with pytest.raises(
        InvalidInput, match=r"^The value is of type _reloaded.<locals>.Ticket, which"
    ):
        dump(before())


def test_a_class_registered_under_another_name_leaves_its_first() -> None:
    kind = _reloaded()
    gd.register_serializer(kind, encode=_written_as("x"), decode=str, name="ticket-1")

    gd.register_serializer(kind, encode=_written_as("x"), decode=str, name="ticket-2")

    assert dump(kind()) == '{"$type":"ticket-2","value":"x"}'
    with pytest.raises(UnknownStoredType):
        load('{"$type":"ticket-1","value":"x"}')


@pytest.mark.parametrize(
    "kind",
    [type(None), bool, int, float, str, list, tuple, dict, date, datetime, Decimal, bytes, Enum],
)
def test_built_in_types_take_no_other_serializer(kind: type[Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        gd.register_serializer(kind, encode=str, decode=kind)

    assert str(caught.value) == (
        f"{kind.__qualname__} is stored by GenevaDrive itself and takes no other serializer. "
        f"Register a class of your own."
    )


@pytest.mark.parametrize("name", ["date", "timedelta", "tuple", "dict", "enum", "float", "int"])
def test_the_names_of_built_in_types_are_taken(name: str) -> None:
    decode: Any = str

    with pytest.raises(InvalidInput) as caught:
        gd.register_serializer(Discounted, encode=str, decode=decode, name=name)

    assert str(caught.value) == (
        f"The name {name!r} is one of GenevaDrive's own types. Give the serializer of "
        f"{__name__}.Discounted another name."
    )


def test_the_name_of_another_registered_type_is_taken() -> None:
    decode: Any = str

    with pytest.raises(InvalidInput) as caught:
        gd.register_serializer(Discounted, encode=str, decode=decode, name="tests-basket")

    assert str(caught.value) == (
        f"The name 'tests-basket' is taken by the serializer of {__name__}.Basket. Give the "
        f"serializer of {__name__}.Discounted another name."
    )
    assert load(dump(Basket(()))) == Basket(())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "Money"}, "A serializer is registered for a class, not for 'Money'."),
        ({"encode": 7}, "encode of the serializer of {place} is not callable: 7."),
        ({"decode": None}, "decode of the serializer of {place} is not callable: None."),
        ({"name": ""}, "The name of the serializer of {place} must not be empty."),
        ({"name": 7}, "The name of the serializer of {place} must be text, got 7."),
    ],
    ids=["kind", "encode", "decode", "empty name", "name"],
)
def test_a_serializer_that_is_not_one_is_refused(given: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {"kind": Discounted, "encode": str, "decode": str, **given}

    with pytest.raises(InvalidInput) as caught:
        gd.register_serializer(options.pop("kind"), **options)

    assert str(caught.value) == words.format(place=f"{__name__}.Discounted")
