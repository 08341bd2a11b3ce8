from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative import templates
from geneva_drive.errors import MissingField

SCOPE = {"order": {"id": 7, "total": 1.5, "tags": ["a"], "open": True}, "name": "Ann"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("plain", "plain"),
        ("{{order.id}}", 7),
        (" {{ order.total }} ", 1.5),
        ("{{order.tags}}", ["a"]),
        ("{{order.open}}", True),
        ("Order {{order.id}} of {{name}}", "Order 7 of Ann"),
        ("{{order.open}} {{order.tags}}", 'true ["a"]'),
        ("{{gone || 'x'}}", "x"),
        ("{{ '}}' }}", "}}"),
        ({"a": ["{{order.id}}", 5, None]}, {"a": [7, 5, None]}),
    ],
)
def test_a_template_alone_keeps_its_type(written: Any, expected: Any) -> None:
    assert templates.render(written, SCOPE) == expected


def test_a_template_that_finds_nothing_fails() -> None:
    with pytest.raises(MissingField, match=r"^The field 'order.gone' is missing or null\."):
        templates.render("Order {{order.gone}}", SCOPE)


def test_a_name_of_python_finds_nothing_in_the_values() -> None:
    assert list(templates.faults("{{name.__class__}}")) == ["names such as '__class__' are refused"]


def test_a_template_that_does_not_end_is_a_fault() -> None:
    assert list(templates.faults("{{name")) == ["'{{name' has a '{{' without '}}'"]
