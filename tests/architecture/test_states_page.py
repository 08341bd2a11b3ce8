from __future__ import annotations

from tests.architecture.states_page import PAGE, render


def test_the_page_of_states_agrees_with_the_code() -> None:
    assert PAGE.read_text() == render(), "Run: python -m tests.architecture.states_page"
