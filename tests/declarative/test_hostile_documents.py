"""Documents that are meant to do harm: refused in time, with a clear error."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from geneva_drive.declarative import templates, validator
from geneva_drive.declarative.bounds import budget
from geneva_drive.errors import ExpressionFailed
from tests.declarative.documents import allow, check, setting, written

LISTS = "|".join(["[@,@]"] * 60)


@pytest.fixture(autouse=True)
def _in_time() -> Iterator[None]:
    """What takes exponential or quadratic time takes minutes, not seconds."""
    begun = time.process_time()
    yield
    assert time.process_time() - begun < 5


def faults(document: Any) -> list[tuple[str, str]]:
    return [(fault.path, fault.message) for fault in validator.examine(document)[1]]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("form", [json.dumps, lambda document: document], ids=["text", "object"])
def test_a_document_of_10_megabytes_is_refused(form: Any) -> None:
    document = written(setting("a", "x", "x" * 10_000_000))

    size = len(json.dumps(document))
    assert faults(form(document)) == [
        ("$", f"the document has {size:,} bytes; at most 1,048,576 are accepted")
    ]


@pytest.mark.parametrize("levels", [101, 1_000, 100_000])
def test_a_document_that_is_nested_too_deep_is_refused(levels: int) -> None:
    text = json.dumps(written(setting("a", "x", "?"))).replace('"?"', "[" * levels + "]" * levels)

    assert faults(text) == [("$", "the document is nested deeper than 100 levels")]


def test_an_object_that_is_nested_too_deep_is_refused() -> None:
    assert faults(written(setting("a", "x", nested(5_000)))) == [
        ("$", "the document is nested deeper than 100 levels")
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe\xfa", "the document is not JSON: 'utf-16-le' codec can't decode byte 0xfa in "
         "position 2: truncated data"),
        ("", "the document is not JSON: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "the document must be an object, got list"),
        ("NaN", "the document is not JSON: NaN is not a JSON number"),
        ('{"a": 1, "b": 2, "a": 3}', "the document is not JSON: an object has the key 'a' twice"),
        ({"workflow_id": object}, "the document is not JSON: Object of type type is not JSON "
         "serializable"),
        ({"version": float("nan")}, "the document is not JSON: Out of range float values are not "
         "JSON compliant: nan"),
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(text: Any, message: str) -> None:
    [(path, words)] = faults(text)

    # Python 3.11 does not name the value.
    assert (path, words) in [("$", message), ("$", message.removesuffix(": nan"))]


def test_a_key_that_is_given_twice_among_many_is_found_in_time() -> None:
    keys = ", ".join(f'"{number}": 0' for number in range(80_000))

    assert faults(f'{{{keys}, "79999": 1}}') == [
        ("$", "the document is not JSON: an object has the key '79999' twice")
    ]


def test_many_thousand_faults_are_all_reported_in_time() -> None:
    keys: dict[str, Any] = {f"retri{number}": 0 for number in range(30_000)}

    assert len(faults(written(allow(**keys)))) == 30_000


def test_many_thousand_unknown_targets_are_all_reported_in_time() -> None:
    steps = [check(f"s{n}", "x", "eq", 1, on_true=f"t{n}") for n in range(7_000)]

    assert len(faults(written(*steps))) == 7_000


def test_many_thousand_cycles_are_all_reported_in_time() -> None:
    steps = [check(f"s{n}", "x", "eq", 1, on_false="s0") for n in range(7_000)]

    assert len(faults(written(*steps))) == 7_000


@pytest.mark.parametrize(
    "text",
    [
        "{{" + "'a'" * 60,
        "{{" + "''" * 200_000,
        r"{{\"}}" * 100_000,
        "{{" * 300_000,
        "{{'" * 200_000,
    ],
)
def test_a_template_of_many_quotes_is_read_in_time(text: str) -> None:
    assert len(faults(written(setting("a", "x", text)))) > 0


@pytest.mark.parametrize(
    "expression",
    [
        LISTS,
        "|".join(["[@,@][]"] * 60),
        "|".join(["{a:@,b:@}"] * 40),
        "|".join(["join('',[@,@])"] * 30),
        f"to_string({'|'.join(['[@,@]'] * 50)})",
    ],
    ids=["lists", "flattened", "objects", "text", "function"],
)
def test_an_expression_that_doubles_what_it_finds_fails_its_step(
    expression: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if expression != LISTS:  # one of them spends the whole budget
        monkeypatch.setattr(budget, "MOST", 50_000)
    scope: Any = "x" * 1_000 if "join" in expression else {"a": 1}

    with pytest.raises(ExpressionFailed, match=r"produces more than 1,000,000 values\.$"):
        templates.render("{{" + expression + "}}", scope)


def test_templates_that_repeat_a_large_value_fail_their_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(budget, "MOST", 50_000)
    scope = {"a": "x" * 10_000, "b": list(range(10_000))}

    for value in ("{{a}}" * 1_000, ["{{a}}"] * 1_000, ["{{b}}"] * 1_000, "{{b}} " * 1_000):
        with pytest.raises(ExpressionFailed, match=r"produce more than 1,000,000 values or chara"):
            templates.render(value, scope)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("a[::0]", "slice step cannot be zero"),
        ("ceil(to_number('1e999'))", "cannot convert float infinity to integer"),
        ("length(b)", "In function length(), invalid type for value: 5, expected one of: "
         "['string', 'array', 'object'], received: \"number\""),
    ],
)  # fmt: skip
def test_an_expression_that_fails_says_why(expression: str, why: str) -> None:
    with pytest.raises(ExpressionFailed) as caught:
        templates.render("{{" + expression + "}}", {"a": [1], "b": 5})

    assert str(caught.value) == f"The expression {expression!r} failed: {why}."


def test_the_reason_of_an_expression_does_not_show_a_whole_value() -> None:
    with pytest.raises(ExpressionFailed) as caught:
        templates.render("{{abs(a)}}", {"a": "x" * 100_000})

    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["__class__", "a.__class__", '"__class__"', "a.__init__.b"])
def test_names_of_python_are_refused_everywhere(name: str) -> None:
    steps = [
        check("a", name, "eq", 1),
        setting("b", "x", "{{" + name + "}}"),
        setting("c", name, 1),
    ]

    [word] = [each for each in ("__class__", "__init__") if each in name]
    message = f"names such as {word!r} are refused"
    assert faults(written(*steps)) == [
        ("$.steps[0].condition.field", message),
        ("$.steps[1].execute[0].value", message),
        ("$.steps[2].execute[0].path", message),
    ]
