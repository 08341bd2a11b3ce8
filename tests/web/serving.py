"""The command `geneva serve` as a process, and curl."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAM = "from geneva_drive.cli.main import main; main()"


def geneva(*arguments: str, **environment: str) -> list[str]:
    """Run a command to its end; returns the lines that it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    return done.stdout.splitlines()


@contextmanager
def serving(*options: str, **environment: str) -> Iterator[tuple[str, list[str]]]:
    """Run `geneva serve` on a free port; yields its address and what it printed first."""
    command = [sys.executable, "-c", PROGRAM, "serve", "--port", "0", *options]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    printed: list[str] = []
    try:
        for line in process.stdout:
            printed.append(line.rstrip("\n"))
            if found := re.search(r" at (http://\S+)/docs$", printed[-1]):
                yield found[1], printed
                break
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def curl(url: str, *options: str) -> tuple[int, Any]:
    """Run curl as an operator would; returns the status and the JSON."""
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--write-out", "\n%{http_code}", *options, url],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    text, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(text) if text.startswith(("{", "[")) else text
