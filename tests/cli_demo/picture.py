"""Record `docs/images/demo.svg` from a run of the demo: python -m tests.cli_demo.picture."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "demo.svg"

_MOMENT = "─ 6. Killed once"  # the title of a chapter, in the frame around it
_WIDTH, _HEIGHT = 90, 32
_PROGRAM = "from geneva_drive.cli.main import main; main()"
_TERMINAL = {
    "COLUMNS": str(_WIDTH),
    "LINES": str(_HEIGHT),
    "TERM": "xterm-256color",
    "FORCE_COLOR": "1",
}
_CONTROLS = re.compile(r"(\n|\r|\x1b\[1A|\x1b\[2K|\x1b\[\?25[lh])")
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def screen_at(moment: str, frames: Iterable[str]) -> list[str]:
    """Return the lines of the terminal when `moment` has appeared on it."""
    lines = [""]
    for frame in frames:
        for part in _CONTROLS.split(frame):
            match part:
                case "\n":
                    lines.append("")
                case "\x1b[1A":  # one line up; Rich has erased the line below
                    lines.pop()
                case "\x1b[2K":
                    lines[-1] = ""
                case "\r" | "\x1b[?25l" | "\x1b[?25h":
                    pass
                case _:
                    lines[-1] += part
        screen = lines[-_HEIGHT:]
        if any(moment in Text.from_ansi(line).plain for line in screen):
            return screen
    raise SystemExit(f"{moment!r} did not appear in the demo.")


def picture_of(screen: Iterable[str]) -> str:
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    for line in screen:
        console.print(Text.from_ansi(line), no_wrap=True)
    # Without fonts of another server: the reader's own monospaced one does.
    return _FONTS.sub("", console.export_svg(title="geneva demo", unique_id="demo"))


def record() -> str:
    """Run the demo until the moment of the picture."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with subprocess.Popen(
        [sys.executable, "-u", "-c", _PROGRAM, "demo"],
        env=environment | _TERMINAL,
        stdout=subprocess.PIPE,
    ) as demo:
        assert demo.stdout is not None
        # Rich begins each frame with a carriage return.
        frames = io.TextIOWrapper(demo.stdout, encoding="utf-8", newline="\r")
        screen = screen_at(_MOMENT, frames)
        demo.send_signal(signal.SIGINT)
        frames.read()
    return picture_of(screen)


if __name__ == "__main__":
    PICTURE.write_text(record(), encoding="utf-8")
