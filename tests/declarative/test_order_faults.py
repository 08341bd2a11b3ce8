"""Faults in how steps follow each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.declarative.documents import allow, block, check, faults, parsed, setting

BACK = "these steps lead back to where they began:"
SAME_LIST = "name a step of the same list"


def parallel(step_id: str, *steps: Any, **more: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "parallel", "steps": [*steps], **more}


def foreach(step_id: str, *steps: Any, **more: Any) -> dict[str, Any]:
    terms = {"items": "{{lines}}", "item_var": "line", "steps": [*steps]}
    return {"id": step_id, "type": "foreach", **terms, **more}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([setting("a", "x", 1, next="a")], [("$.steps[0]", f"{BACK} a -> a")]),
        (
            [setting("a", "x", 1), setting("b", "x", 2), setting("c", "x", 3, next="a")],
            [("$.steps[2]", f"{BACK} a -> b -> c -> a")],
        ),
        (
            [check("a", "x", "eq", 1, on_false="c"), setting("b", "x", 1, next="a"), allow("c")],
            [("$.steps[1]", f"{BACK} a -> b -> a")],
        ),
        (
            [*(setting(f"s{n}", "x", n) for n in range(9)), setting("z", "x", 1, next="s0")],
            [("$.steps[9]", f"{BACK} s0 -> s1 -> s2 -> ... -> z -> s0")],
        ),
        (
            [foreach("each", setting("a", "x", 1), setting("b", "x", 1, next="a"))],
            [("$.steps[0].steps[1]", f"{BACK} a -> b -> a")],
        ),
        (
            [parallel("both", setting("a", "x", 1, next="b"), setting("b", "x", 1, next="a"))],
            [("$.steps[0].steps[1]", f"{BACK} a -> b -> a")],
        ),
    ],
    ids=["itself", "three", "branch", "long", "foreach", "parallel"],
)
def test_a_cycle_is_refused(steps: list[Any], expected: list[tuple[str, str]]) -> None:
    assert faults(*steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([allow("a"), allow("b")], [("$.steps[1]", "no step leads to 'b'")]),
        ([block("a"), allow("b")], [("$.steps[1]", "no step leads to 'b'")]),
        (
            [setting("a", "x", 1, next="c"), setting("b", "x", 2), allow("c")],
            [("$.steps[1]", "no step leads to 'b'")],
        ),
        (
            [allow("a"), setting("b", "x", 1), setting("c", "x", 2), block("d"), allow("e")],
            [("$.steps[1]", "no step leads to 'b'"), ("$.steps[4]", "no step leads to 'e'")],
        ),
        (
            [foreach("each", allow("a"), allow("b"))],
            [("$.steps[0].steps[1]", "no step leads to 'b'")],
        ),
        (
            [
                parallel(
                    "both",
                    setting("a", "x", 1, next="c"),
                    setting("b", "x", 1, next="c"),
                    allow("c"),
                )
            ],
            [("$.steps[0].steps[2]", "the branches 'a' and 'b' both lead to it; use two steps")],
        ),
    ],
    ids=[
        "after allow",
        "after block",
        "jumped over",
        "only the first of several",
        "foreach",
        "two branches",
    ],
)
def test_a_step_that_cannot_be_reached_is_refused(
    steps: list[Any], expected: list[tuple[str, str]]
) -> None:
    assert faults(*steps) == expected


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            [allow("a", next="nowhere")],
            [("$.steps[0].next", f"there is no step 'nowhere'; {SAME_LIST}")],
        ),
        (
            [check("a", "x", "eq", 1, on_true="finsh"), allow("finish")],
            [("$.steps[0].on_true", "there is no step 'finsh'; did you mean 'finish'?")],
        ),
        (
            [foreach("each", setting("inner", "x", 1, next="end")), allow("end")],
            [
                (
                    "$.steps[0].steps[0].next",
                    f"'end' is in another list, at $.steps[1]; {SAME_LIST}",
                )
            ],
        ),
        (
            [foreach("each", setting("inner", "x", 1), next="inner")],
            [
                (
                    "$.steps[0].next",
                    f"'inner' is in another list, at $.steps[0].steps[0]; {SAME_LIST}",
                )
            ],
        ),
    ],
    ids=["unknown", "misspelt", "outside", "inside"],
)
def test_a_target_outside_the_list_is_refused(
    steps: list[Any], expected: list[tuple[str, str]]
) -> None:
    assert faults(*steps) == expected


def test_an_id_is_unique_in_the_whole_document() -> None:
    found = faults(setting("a", "x", 1), foreach("each", setting("a", "x", 1)))

    assert found == [("$.steps[1].steps[0].id", "the id 'a' is used before, at $.steps[0]")]


def test_a_fault_of_one_step_hides_no_other() -> None:
    found = faults(setting("a", "x", 1, timeout="x"), {"id": "b"}, allow("c", next="b"))

    assert [path for path, _ in found] == ["$.steps[0].timeout", "$.steps[1].type", "$.steps[2]"]


def test_steps_of_every_kind_of_branch_are_reached() -> None:
    document = parsed(
        check("check", "x", "eq", 1, on_true="ask", on_false="hear"),
        {"id": "ask", "type": "approval", "role": "boss", "timeout": "1h", "on_reject": "no",
         "on_timeout": "late", "next": "hear"},
        block("no", reason="no"),
        block("late"),
        {"id": "hear", "type": "wait", "event": "paid", "timeout": 5, "on_timeout": "unpaid"},
        parallel("both", setting("p", "x", 1, next="q"), allow("q"), allow("r"), on_false="failed"),
        block("owed", requires={"type": "approval", "role": "x"}, on_true="end", on_false="unpaid"),
        allow("end"),
        block("unpaid"),
        block("failed"),
    )  # fmt: skip

    assert [step.id for step in document.all_steps()] == [
        *("check", "ask", "no", "late", "hear", "both", "p", "q", "r", "owed", "end", "unpaid"),
        "failed",
    ]
