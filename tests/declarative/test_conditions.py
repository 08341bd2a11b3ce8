from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative.condition import Condition, evaluate
from geneva_drive.errors import ExpressionFailed, MissingField

TRUE = {"field": "yes", "operator": "eq", "value": True}
FALSE = {"field": "no", "operator": "eq", "value": True}
GONE = {"field": "gone", "operator": "eq", "value": True}
SCOPE = {"yes": True, "no": False}


def holds(written: dict[str, Any], scope: dict[str, Any] = SCOPE) -> bool:
    return evaluate(Condition.model_validate(written), scope)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"and": [TRUE, TRUE]}, True),
        ({"and": [TRUE, FALSE]}, False),
        ({"or": [FALSE, TRUE]}, True),
        ({"or": [FALSE, FALSE]}, False),
        ({"not": FALSE}, True),
        ({"not": TRUE}, False),
        ({**TRUE, "and": [TRUE]}, True),
        ({**FALSE, "and": [TRUE]}, False),
        ({**TRUE, "or": [FALSE]}, True),
        ({**FALSE, "or": [TRUE]}, True),
        ({**FALSE, "or": [FALSE]}, False),
        ({**TRUE, "not": FALSE}, True),
        ({**FALSE, "not": FALSE}, False),
        ({"or": [FALSE], "not": FALSE}, True),
        ({"and": [TRUE], "not": TRUE}, False),
        ({"and": [{"or": [FALSE, TRUE]}, {"not": {"and": [TRUE, FALSE]}}]}, True),
    ],
)
def test_conditions_are_joined(written: dict[str, Any], expected: bool) -> None:
    assert holds(written) is expected


def test_parts_are_evaluated_only_until_the_answer_is_known() -> None:
    assert holds({"or": [TRUE, GONE]})
    assert not holds({"and": [FALSE, GONE]})
    with pytest.raises(MissingField):
        holds({"or": [FALSE, GONE]})


def test_a_default_stands_for_a_missing_field() -> None:
    written = {"field": "tier", "operator": "eq", "value": "gold", "default": "gold"}

    assert holds(written, {})
    assert not holds(written, {"tier": "silver"})


def test_a_value_may_be_a_template_that_keeps_its_type() -> None:
    written = {"field": "total", "operator": "gt", "value": "{{limit}}"}

    assert holds(written, {"total": 10, "limit": 9})
    with pytest.raises(MissingField, match="'limit'"):
        holds(written, {"total": 10})


def test_an_expression_that_fails_names_itself() -> None:
    with pytest.raises(ExpressionFailed, match=r"^The expression 'length\(n\)' failed: "):
        holds({"field": "length(n)", "operator": "eq", "value": 1}, {"n": 5})
