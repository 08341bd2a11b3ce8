"""`geneva demo`: a short story told with real worker processes on an embedded database.

`workflows.py` is the application as a user would write it, `story.py` and `graph_story.py` what
happens to it. The other modules run the processes (`processes`), look into the database
(`observer`, `changes`), show it (`frame`, `views`) and add up at the end (`promises`, `report`).
Nothing that is shown is made up: it is read from the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def run_demo(console: Console) -> int:
    """Tell the story on `console`; 0 if all came out as promised, 1 if not, 130 if interrupted."""
    # Only when it is wanted: the demo's workflow classes would take their names, such as Signup,
    # in every other `geneva` process too.
    from geneva_drive.cli.demo.performance import perform

    return perform(console)
