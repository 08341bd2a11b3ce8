from __future__ import annotations

from tests.architecture.reading import modules


def test_no_module_is_longer_than_400_lines() -> None:
    assert {path: n for path, text in modules() if (n := len(text.splitlines())) > 400} == {}


def test_every_module_says_in_one_sentence_what_it_is() -> None:
    unlabelled = [
        path
        for path, text in modules()
        if text.strip() and not text.startswith('"""') and not path.endswith("/__init__.py")
    ]

    assert unlabelled == []
