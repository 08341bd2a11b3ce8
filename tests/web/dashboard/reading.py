"""Reads pages as a person would: their words, in order."""

from __future__ import annotations

import re
from html import unescape

_TAG = re.compile(r"<[^>]*>")
_SKIPPED = re.compile(r"<(svg|head|dialog|script)\b.*?</\1>", re.DOTALL)


def words_of(html: str) -> str:
    """Return the text of a page with single spaces."""
    bare = unescape(_TAG.sub(" ", _SKIPPED.sub(" ", html)))
    return " ".join(bare.split())


def rows_of(html: str) -> list[list[str]]:
    """Return the texts of the cells of each row of the page's table."""
    body = html.partition("<tbody")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr\b.*?</tr>", body, re.DOTALL)
    return [[words_of(cell) for cell in re.findall(r"<td.*?</td>", row, re.DOTALL)] for row in rows]


def address_of(html: str, rel: str) -> str:
    """Return where the pager of a list leads: `prev` to newer rows, `next` to older ones."""
    found = re.search(rf'href="([^"]*)" rel="{rel}"', html)
    assert found is not None, f"The page has no link {rel!r}."
    return unescape(found[1])
