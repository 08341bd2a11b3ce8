"""`geneva demo`: stories told by real worker processes on one SQLite file.

`workflows` is the application as a user would write it. `story`, `batch_story` and `event_story`
are what happens to it; `main` lists them by name.
`observer` reads the database, which is the only source of what is shown: `changes` and `frame` show
it while the story runs, beside the code (`listing`), and `promises` checks at the end what was
promised.
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
    # Imported late: the demo's workflow classes would occupy their names in every `geneva` process.
    from geneva_drive.cli.demo.main import main

    return main(console, story)
