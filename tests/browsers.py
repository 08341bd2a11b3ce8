"""The browser that the tests of the dashboard drive: found, installed or missed."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.servers import install

VARIABLE = "GENEVA_TEST_BROWSER"
FOLDER = Path(__file__).parent / "web" / "browser"

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
_PACKAGE = "chromium"


@dataclass(frozen=True, slots=True)
class Browser:
    program: str
    origin: str


@dataclass(frozen=True, slots=True)
class NoBrowser:
    tried: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"No Chromium to test the dashboard in: {'; '.join(self.tried)}. "
            f"Install one, or name its program in {VARIABLE}."
        )


class BrowserDoesNotStart(Exception):
    def __init__(self, program: str, reason: str) -> None:
        super().__init__(
            f"{VARIABLE} names a browser that cannot be used: {program!r}, {reason}. "
            "Correct it, or unset it to let the tests look for one."
        )


def find_browser() -> Browser | NoBrowser:
    """Find Chromium, or install it as root on Debian."""
    given = os.environ.get(VARIABLE)
    if given:
        reason = _why_not(given)
        if reason is not None:
            raise BrowserDoesNotStart(given, reason)
        return Browser(given, f"given by {VARIABLE}")
    tried = ["it is not installed"]
    program = _installed()
    if program is None and install(_PACKAGE, tried):
        program = _installed()
    return Browser(program, f"installed as {program}") if program else NoBrowser(tuple(tried))


def _installed() -> str | None:
    found = (shutil.which(name) for name in (*_PROGRAMS, *_APPLICATIONS))
    return next(filter(None, found), None)


def _why_not(program: str) -> str | None:
    try:
        done = subprocess.run([program, "--version"], check=False, capture_output=True, timeout=60)
    except OSError as error:
        return error.strerror or str(error)
    return None if done.returncode == 0 else f"its exit code is {done.returncode}"
