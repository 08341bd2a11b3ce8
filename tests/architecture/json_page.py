"""Write the tables of `docs/json.md` from the types: python -m tests.architecture.json_page."""

from __future__ import annotations

import re
from pathlib import Path

from geneva_drive.declarative.reference import tables

PAGE = Path(__file__).parents[2] / "docs" / "json.md"

_TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TABLES = {
    "document": tables.document_table,
    "steps": tables.steps_table,
    "actions": tables.actions_table,
    "operators": tables.operators_table,
}


def names(page: str) -> list[str]:
    return [found[2] for found in _TABLE.finditer(page)]


def render(page: str) -> str:
    """Return the page with every table made anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{TABLES[found[2]]()}\n\n{found[3]}", page)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text()))
