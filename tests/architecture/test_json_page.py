from __future__ import annotations

from tests.architecture.json_page import PAGE, TABLES, names, render


def test_the_tables_of_the_json_page_agree_with_the_types() -> None:
    page = PAGE.read_text()

    assert names(page) == [*TABLES]
    assert render(page) == page, "Run: python -m tests.architecture.json_page"


def test_every_key_of_the_json_page_has_a_meaning() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]

    assert [row for row in rows if row.endswith("|  |")] == []
