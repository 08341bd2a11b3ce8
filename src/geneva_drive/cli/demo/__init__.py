"""`geneva demo`: stories played by real worker processes on one SQLite file.

`workflows` is the app as a user would write it. `story`, `batch_story` and `event_story` are what
happens to it; `main` lists them by name. `json_story` and `showroom` have workflows of their own.
`observer` reads the database; nothing is shown that is not stored there. `changes` and `frame` show
it while the story runs, beside the code (`code_listing`); at the end, `promises` checks it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def run_demo(console: Console, story: str = "shop") -> int:
    """Run a story; return 0 if it kept all promises, 1 if not, 130 if it was interrupted."""
    if story == "json":
        from geneva_drive.cli.demo import json_story

        return json_story.main(console)
    # Imported late, so that the demo's workflow classes take no names in other `geneva` commands.
    from geneva_drive.cli.demo.main import main

    return main(console, story)
