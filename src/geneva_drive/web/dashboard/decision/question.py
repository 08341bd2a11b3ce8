"""The question of a request: Markdown without HTML and without pictures."""

from __future__ import annotations

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from geneva_drive.definition.nodes.phrases import from_name

# Pictures would be fetched from another host, which would learn that the page was opened.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).disable("image")
_HEADING = 3  # tokens: its opening, the text, its closing
_TEXTS = ("text", "code_inline", "softbreak", "hardbreak")


@dataclass(frozen=True, slots=True)
class Question:
    """The heading of the page, and the paragraphs below it."""

    heading: Markup
    rest: Markup


def question_of(title: str | None, step_name: str) -> Question:
    """Return the first paragraph as the heading; without one, the name of the step."""
    tokens = _MARKDOWN.parse(title or "")
    if not tokens or tokens[0].type not in ("paragraph_open", "heading_open"):
        heading = escape(f"Decide {from_name(step_name)}")
        return Question(heading, _html(tokens))
    return Question(_html(tokens[1:2]), _html(tokens[_HEADING:]))


def _html(tokens: list) -> Markup:  # type: ignore[type-arg]  # of markdown-it
    # The renderer escapes every text.
    return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def plain_question(title: str | None, step_name: str) -> str:
    """Return the first line of the question as text, without Markdown."""
    tokens = _MARKDOWN.parse(title or "")
    if not tokens or tokens[0].type not in ("paragraph_open", "heading_open"):
        return f"Decide {from_name(step_name)}"
    children = tokens[1].children or []
    return " ".join("".join(one.content or " " for one in children if one.type in _TEXTS).split())
