"""What people read in place of typed JSON."""

from __future__ import annotations

from datetime import date, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from geneva_drive.cli.output.names import cursor_words
from geneva_drive.serialization import typed_json

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("cursor", "words"),
    [
        (date(2026, 1, 2), 'cursor "2026-01-02"'),
        (datetime(2026, 1, 2, 3, tzinfo=BERLIN), 'cursor "2026-01-02T03:00:00+01:00"'),
        (time(3, fold=1), 'cursor "03:00:00"'),
        ((1, [2]), "cursor [1, [2]]"),
    ],
    ids=["date", "moment of a zone", "fold", "tuple"],
)
def test_a_cursor_is_written_without_its_types(cursor: Any, words: str) -> None:
    assert cursor_words(typed_json.dump(cursor)) == words
