from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput


def test_an_actor_keeps_each_of_its_names_once_and_in_order() -> None:
    actor = gd.Actor("ann", roles=["manager", "clerk", "manager"], permissions=iter(["approve"]))

    assert (actor.id, actor.roles, actor.permissions) == ("ann", ("manager", "clerk"), ("approve",))
    assert gd.Actor("ann") == gd.Actor("ann", (), ())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"id": 7}, "The id of an Actor must be text, got 7."),
        ({"id": ""}, "The id of an Actor must not be empty."),
        (
            {"id": "a" * 256},
            "The id of an Actor must be at most 255 characters long, got 256.",
        ),
        (
            {"id": "ann", "roles": "manager"},
            "The roles of an Actor must be a list of names, got 'manager'. Write "
            "roles=['manager'].",
        ),
        (
            {"id": "ann", "permissions": None},
            "The permissions of an Actor must be a list of names, got None.",
        ),
        (
            {"id": "ann", "roles": ["manager", 7]},
            "Each name in the roles of an Actor must be text, got 7.",
        ),
    ],
    ids=["a number", "empty", "too long", "one role", "no list", "a role that is no text"],
)
def test_an_actor_without_a_name_or_with_other_than_names_is_refused(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        gd.Actor(**arguments)

    assert str(refused.value) == words
