"""Every operator against every JSON type."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative import operators
from geneva_drive.declarative.condition import Condition, evaluate
from geneva_drive.declarative.operators import Operator
from geneva_drive.errors import ExpressionFailed, MissingField, NotComparable

# The fields, by type; `null` is a missing field for every operator but `exists`.
FIELDS: dict[str, Any] = {
    "true": True,
    "number": 1,
    "text": "abc",
    "list": [1, "abc", None],
    "object": {"a": 1},
}
YES, NO, ERROR = True, False, NotComparable
# For each operator and value: what comes of the fields above, in their order.
TABLE: list[tuple[str, Any, list[Any]]] = [
    ("eq", True, [YES, NO, NO, NO, NO]),
    ("eq", 1.0, [NO, YES, NO, NO, NO]),
    ("eq", "abc", [NO, NO, YES, NO, NO]),
    ("eq", [1.0, "abc", None], [NO, NO, NO, YES, NO]),
    ("eq", {"a": 1.0}, [NO, NO, NO, NO, YES]),
    ("neq", True, [NO, YES, YES, YES, YES]),
    ("neq", 1.0, [YES, NO, YES, YES, YES]),
    ("neq", "1", [YES, YES, YES, YES, YES]),
    ("neq", [True, "abc", None], [YES, YES, YES, YES, YES]),
    ("neq", {"a": True}, [YES, YES, YES, YES, YES]),
    ("gt", 0.5, [ERROR, YES, ERROR, ERROR, ERROR]),
    ("gt", "abb", [ERROR, ERROR, YES, ERROR, ERROR]),
    ("gte", 1, [ERROR, YES, ERROR, ERROR, ERROR]),
    ("gte", "abd", [ERROR, ERROR, NO, ERROR, ERROR]),
    ("lt", 1, [ERROR, NO, ERROR, ERROR, ERROR]),
    ("lt", "abd", [ERROR, ERROR, YES, ERROR, ERROR]),
    ("lte", 1, [ERROR, YES, ERROR, ERROR, ERROR]),
    ("lte", "abb", [ERROR, ERROR, NO, ERROR, ERROR]),
    ("in", [1.0, "abc"], [NO, YES, YES, NO, NO]),
    ("in", [True, {"a": 1}, [1, "abc", None]], [YES, NO, NO, YES, YES]),
    ("not_in", [1.0, "abc"], [YES, NO, NO, YES, YES]),
    ("contains", "abc", [ERROR, ERROR, YES, YES, ERROR]),
    ("contains", 1.0, [ERROR, ERROR, ERROR, YES, ERROR]),
    ("contains", True, [ERROR, ERROR, ERROR, NO, ERROR]),
    ("contains", None, [ERROR, ERROR, ERROR, YES, ERROR]),
    ("starts_with", "ab", [ERROR, ERROR, YES, ERROR, ERROR]),
    ("ends_with", "ab", [ERROR, ERROR, NO, ERROR, ERROR]),
    ("regex", "^a.c$", [ERROR, ERROR, YES, ERROR, ERROR]),
    ("exists", True, [YES, YES, YES, YES, YES]),
    ("exists", False, [NO, NO, NO, NO, NO]),
]
CASES = [
    pytest.param(operator, value, field, expected, id=f"{name} {operator} {value!r}")
    for operator, value, row in TABLE
    for (name, field), expected in zip(FIELDS.items(), row, strict=True)
]


def condition(operator: str, value: Any) -> Condition:
    return Condition.model_validate({"field": "f", "operator": operator, "value": value})


@pytest.mark.parametrize(("operator", "value", "field", "expected"), CASES)
def test_an_operator_holds_or_not_or_fails(
    operator: str, value: Any, field: Any, expected: Any
) -> None:
    try:
        answer: Any = evaluate(condition(operator, value), {"f": field})
    except NotComparable:
        answer = ERROR

    assert answer is expected


def test_the_table_has_every_operator() -> None:
    assert {operator for operator, _, _ in TABLE} == set(Operator)
    assert set(operators.MEANINGS) == set(operators.VALUE_TYPES) == set(Operator)


@pytest.mark.parametrize("operator", [each for each in Operator if each is not Operator.EXISTS])
@pytest.mark.parametrize("scope", [{}, {"f": None}], ids=["nothing", "null"])
def test_a_missing_field_fails(operator: Operator, scope: dict[str, Any]) -> None:
    value = {"in": ["a"], "not_in": ["a"]}.get(operator, "a")

    with pytest.raises(MissingField) as caught:
        evaluate(condition(operator, value), scope)

    assert str(caught.value) == (
        "The field 'f' is missing or null. Provide it in the context, ask for it with 'exists', "
        "or give it a default."
    )


@pytest.mark.parametrize("scope", [{}, {"f": None}], ids=["nothing", "null"])
def test_exists_asks_for_a_missing_field(scope: dict[str, Any]) -> None:
    assert evaluate(condition("exists", False), scope)
    assert not evaluate(Condition.model_validate({"field": "f", "operator": "exists"}), scope)


@pytest.mark.parametrize(("sign", "operator"), operators.ALIASES.items())
def test_a_sign_is_another_name_of_its_operator(sign: str, operator: Operator) -> None:
    assert condition(sign, 1) == condition(operator, 1)


def test_values_that_cannot_be_compared_are_named() -> None:
    with pytest.raises(NotComparable) as caught:
        evaluate(condition("gt", 5), {"f": "7"})

    assert str(caught.value) == (
        "The operator 'gt' cannot compare text with number. Values are not converted: write the "
        "value in the type of the field."
    )


def test_numbers_of_any_size_compare_by_value() -> None:
    assert evaluate(condition("gt", 2**70), {"f": 2**70 + 1})
    assert not evaluate(condition("eq", float(2**53)), {"f": 2**53 + 1})


def test_a_pattern_from_a_template_that_does_not_parse_fails_the_step() -> None:
    with pytest.raises(ExpressionFailed, match="is not an RE2 pattern"):
        evaluate(condition("regex", "{{p}}"), {"f": "a", "p": "("})


def test_a_pattern_that_would_hang_other_engines_answers_at_once() -> None:
    assert not evaluate(condition("regex", "^(a+)+$"), {"f": "a" * 50_000 + "b"})
