from __future__ import annotations

import html
import inspect
import re

import pytest

from tests.cli_demo.conftest import Shop
from tests.cli_demo.picture import PICTURE, picture_of, screen_at

FRAMES = [
    "log 1\n\x1b[?25lone\nframe\r",
    "\x1b[2K\x1b[1A\x1b[2Klog 2\ntwo\n\x1b[31mframes\x1b[0m\r",
    "\x1b[2K\x1b[1A\x1b[2Kthree\nframes\r",
]


def test_the_screen_is_the_log_with_the_frame_that_was_drawn_last() -> None:
    assert screen_at("two", FRAMES) == ["log 1", "log 2", "two", "\x1b[31mframes\x1b[0m"]


def test_a_moment_that_does_not_come_ends_the_recording() -> None:
    with pytest.raises(SystemExit, match=r"^'four' did not appear in the demo\.$"):
        screen_at("four", FRAMES)


def test_a_picture_names_no_other_server() -> None:
    assert "url(http" not in picture_of(["two", "\x1b[31mframes\x1b[0m"])


def test_the_picture_of_the_demo_shows_the_code_as_it_is(shop: Shop) -> None:
    """If this fails, record the picture again: python -m tests.cli_demo.picture."""
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", PICTURE.read_text(encoding="utf-8"))
    code = inspect.getsource(shop.tables.Import)

    assert _essence(code) in _essence(html.unescape("".join(texts)))


def _essence(text: str) -> str:
    """Leave out spaces, the mark of the step, and the frame around the code."""
    return re.sub(r"[\s◉│]", "", text)
