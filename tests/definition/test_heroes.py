from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition import heroes
from geneva_drive.errors import InvalidInput


def test_a_hero_reference_is_a_value() -> None:
    reference = gd.HeroRef("Invoice", "2026-117")

    assert reference == gd.HeroRef("Invoice", "2026-117")
    assert len({reference, gd.HeroRef("Invoice", "2026-117")}) == 1
    assert copy.deepcopy(reference) == reference
    assert pickle.loads(pickle.dumps(reference)) == reference


def test_the_id_of_a_hero_reference_may_be_a_number() -> None:
    assert gd.HeroRef("Order", 1) == gd.HeroRef("Order", "1")
    assert gd.HeroRef(type="Order", id=-7).id == "-7"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "7"), "The type of a HeroRef must not be empty."),
        (("Invoice", ""), "The id of a HeroRef must not be empty."),
        (("Invoice", True), "The id of a HeroRef must be text, got True."),
        (("Invoice", 7.0), "The id of a HeroRef must be text, got 7.0."),
        ((None, "7"), "The type of a HeroRef must be text, got None."),
        (
            ("Invoice", "7\x00"),
            "The id of a HeroRef must not contain NUL or lone surrogates, got '7\\x00'.",
        ),
    ],
    ids=["empty type", "empty id", "id of a flag", "id of a fraction", "no type", "NUL"],
)
def test_a_hero_reference_needs_type_and_id(arguments: tuple[Any, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        gd.HeroRef(*arguments)

    assert str(caught.value) == words


def test_an_attribute_of_a_mere_reference_says_what_is_missing() -> None:
    reference: Any = gd.HeroRef("Invoice", "7")

    with pytest.raises(AttributeError) as caught:
        _ = reference.total

    assert str(caught.value) == (
        "HeroRef('Invoice', '7') has no attribute 'total': no class or loader for heroes of type "
        "'Invoice' is known in this process. Import the mapped class, write gd.Workflow[Invoice], "
        "or register a loader with gd.register_hero."
    )


def test_the_last_registered_loader_counts() -> None:
    gd.register_hero("LoadedInvoice", lambda hero_id: f"first {hero_id}")
    gd.register_hero("LoadedInvoice", lambda hero_id: f"second {hero_id}")

    loader = heroes.loader_of("LoadedInvoice")
    assert loader is not None
    assert loader("7") == "second 7"
    assert heroes.loader_of("NeverRegistered") is None


def test_a_loader_must_be_callable() -> None:
    load: Any = 7

    with pytest.raises(InvalidInput) as caught:
        gd.register_hero("Invoice", load)

    assert str(caught.value) == "The loader of hero type 'Invoice' is not callable: 7."


def test_a_loader_is_registered_by_name() -> None:
    name: Any = int

    with pytest.raises(InvalidInput) as caught:
        gd.register_hero(name, str)

    assert str(caught.value) == "The name of a hero type must be text, got <class 'int'>."
