from __future__ import annotations

import io
import json
from pathlib import Path

from rich.console import Console

from geneva_drive.cli.demo import json_story

EXAMPLE = Path(__file__).parents[2] / "examples" / "order_approval.json"


def test_the_document_is_the_example() -> None:
    assert json.loads(EXAMPLE.read_text()) == json_story.DOCUMENT


def test_the_story_is_told_to_its_end() -> None:
    written = io.StringIO()

    assert json_story.main(Console(file=written, width=100)) == 0

    told = written.getvalue()
    assert "Both orders were allowed." in told
    assert "require_approval   approved" in told
