"""Types the commands of a page into one shell, as its reader would."""

from __future__ import annotations

import doctest
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\w+\.py)\n")
_INSTALLATION = ("mkdir ", "python3 -m venv ", "pip install ")
_ENDING = re.compile(r"\n@@ (\d+)\n")
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
_CHECKER = doctest.OutputChecker()
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What differs from run to run: times, durations, processes, and where the kill hit the loop.
_VARYING = [
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "TIME"),
    (re.compile(r"[\d.]+ ?(ms|s)\b"), "DURATION"),
    (re.compile(r"\bnow\b|DURATION ago"), "RECENTLY"),
    (re.compile(r"[\d.]+/s"), "RATE"),
    (re.compile(r"Worker \S+:\d+"), "Worker PROCESS"),
    (re.compile(r"─+"), "RULE"),
    (re.compile(r"[━╸╺]+ +\d+%"), "BAR"),
    (re.compile(r"\d+ of 20 items"), "SOME of 20 items"),
    (re.compile(r"(recovered|in progress) +\d+"), r"\1 SOME"),
    (re.compile(r"is (ready|performing)\n"), "is ONGOING\n"),
    (re.compile(r"at cursor \d+"), "at cursor SOME"),
    (re.compile(r".*line \d+: +\d+ Killed .*\n"), ""),
]


@dataclass(frozen=True, slots=True)
class Command:
    line: str
    printed: str


@dataclass(frozen=True, slots=True)
class Page:
    files: dict[str, str]
    commands: list[Command]
    screens: list[str]


@dataclass(frozen=True, slots=True)
class Answer:
    exit_code: int
    output: str


def read(path: Path) -> Page:
    """Return what the reader saves, types and sees; what installs the library is left out."""
    page = Page({}, [], [])
    for language, body in _BLOCK.findall(path.read_text()):
        if language == "text":
            page.screens.append(body)
        elif language == "console":
            page.commands.extend(_commands(body))
        elif named := _FILE.match(body):
            page.files[named[1]] = body
    return page


def _commands(body: str) -> list[Command]:
    parts = [part.partition("\n") for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]]
    return [
        Command(line, printed) for line, _, printed in parts if not line.startswith(_INSTALLATION)
    ]


def type_in(lines: list[str], folder: Path, time_limit: float) -> list[Answer]:
    """Run the lines in one shell with a terminal, and end whatever they leave running."""
    script = folder / "typed.sh"
    script.write_text("".join(f"{line}\nprintf '\\n@@ %s\\n' $?\n" for line in lines))
    leader, follower = pty.openpty()
    shell = subprocess.Popen(
        ["bash", str(script)],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    )
    os.close(follower)
    alarm = threading.Timer(time_limit, os.killpg, (shell.pid, signal.SIGKILL))
    alarm.start()
    try:
        written = _all_of(leader)
    finally:
        alarm.cancel()
        os.close(leader)
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    parts = _ENDING.split(written)
    return [
        Answer(int(code), output) for output, code in zip(parts[::2], parts[1::2], strict=False)
    ]


def _environment() -> dict[str, str]:
    bin_folder = str(Path(sys.executable).parent)
    return os.environ | {
        "PATH": os.pathsep.join([bin_folder, os.environ["PATH"]]),
        "TERM": "xterm",
        "COLUMNS": "100",
        "LINES": "40",
    }


def _all_of(leader: int) -> str:
    written = b""
    with suppress(OSError):  # Linux reports the end of a terminal as an error
        while piece := os.read(leader, 65536):
            written += piece
    text = _CONTROL.sub("", written.decode())
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_as_printed(printed: str, output: str) -> bool:
    """True if the output is what the page shows; '...' stands for anything."""
    return _CHECKER.check_output(_steady(printed), _steady(output), _FLAGS)


def is_on_screen(screen: str, output: str) -> bool:
    return is_as_printed(f"...\n{screen}\n...", output)


def _steady(text: str) -> str:
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return text.strip() + "\n"
