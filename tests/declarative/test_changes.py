"""What `set` writes."""

from __future__ import annotations

import pytest

from geneva_drive.declarative.actions.changes import ContextChange, apply_changes
from geneva_drive.declarative.expressions import BadExpression, compile_set_path
from geneva_drive.errors import ExpressionFailed


def test_objects_on_the_way_are_made_and_the_given_context_stays() -> None:
    before = {"order": {"id": 7}, "gone": None}

    after = apply_changes(
        before,
        [
            ContextChange(("order", "status"), "new"),
            ContextChange(("gone", "a", "b"), 1),
            ContextChange(("order", "status"), "paid"),
        ],
    )

    assert after == {"order": {"id": 7, "status": "paid"}, "gone": {"a": {"b": 1}}}
    assert before == {"order": {"id": 7}, "gone": None}


def test_what_is_no_object_is_not_overwritten_on_the_way() -> None:
    with pytest.raises(ExpressionFailed) as caught:
        apply_changes({"a": {"b": [1]}}, [ContextChange(("a", "b", "c"), 1)])

    assert str(caught.value) == "'set' cannot write 'a.b.c': 'a.b' is list, not an object."


@pytest.mark.parametrize(
    ("path", "names"),
    [("a", ("a",)), ("order.status", ("order", "status")), ("a_1.b-2", ("a_1", "b-2"))],
)
def test_a_path_is_names_with_dots(path: str, names: tuple[str, ...]) -> None:
    assert compile_set_path(path) == names


@pytest.mark.parametrize("path", ["", ".", "a.", "a..b", "a[0]", "a b", "{{a}}", "1a", "a.é"])
def test_anything_else_is_no_path(path: str) -> None:
    with pytest.raises(BadExpression, match=r"is not a path of names, such as 'order\.status'$"):
        compile_set_path(path)
