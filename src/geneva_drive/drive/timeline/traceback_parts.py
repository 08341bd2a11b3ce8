"""A stored traceback as the user's frames, with the frames of libraries folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_FRAME = re.compile(r'^\s*File "(?P<path>.*)", line (?P<line>\d+)(?:, in (?P<function>.*))?$')
_PACKAGE = re.compile(r"[/\\](?:site|dist)-packages[/\\](?P<name>[^/\\]+)")
_STANDARD = re.compile(
    r"[/\\]lib(?:64)?[/\\]python\d[\d.]*[/\\]|^<frozen|[/\\]Python\d+[/\\]Lib[/\\]"
)
_OWN = re.compile(r"[/\\]geneva_drive[/\\]")
_DEMO = re.compile(r"[/\\]geneva_drive[/\\]cli[/\\]demo[/\\]")
_CARETS = re.compile(r"^[\s~^]+$")
_REPEATED = re.compile(r"^\s*\[Previous line repeated (?P<times>\d+) more times?\]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A call in the user's code."""

    path: str
    line: int
    function: str
    code: str | None  # None if the source was not readable


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldedFrames:
    """Calls in libraries, one after the other."""

    packages: tuple[str, ...]  # in the order of the calls
    frames: tuple[Frame, ...]

    @property
    def words(self) -> str:
        """Return a phrase such as "11 frames in stripe, requests and urllib3"."""
        count = len(self.frames)
        names = list(self.packages)
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        return f"{count:,} {'frame' if count == 1 else 'frames'} in {listed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A line that is not a frame: the error itself, or how errors are chained."""

    text: str


TracebackPart = Frame | FoldedFrames | Remark


def split_traceback(text: str | None) -> list[TracebackPart]:
    """Return the parts of a traceback in their order; no line of it is lost."""
    parts: list[TracebackPart] = []
    folding = _Folding()
    for part, package in _read(text or ""):
        if isinstance(part, Frame) and package is not None:
            folding.add(part, package)
            continue
        parts += folding.close()
        parts.append(part)
    return [*parts, *folding.close()]


@dataclass(slots=True)
class _Folding:
    frames: list[Frame] = field(default_factory=list)
    packages: dict[str, None] = field(default_factory=dict)

    def add(self, frame: Frame, package: str) -> None:
        self.frames.append(frame)
        self.packages[package] = None

    def close(self) -> list[FoldedFrames]:
        if not self.frames:
            return []
        folded = FoldedFrames(packages=tuple(self.packages), frames=tuple(self.frames))
        self.frames, self.packages = [], {}
        return [folded]


def _read(text: str) -> Iterator[tuple[Frame | Remark, str | None]]:
    """Yield the frames, each with the library that it belongs to, and other lines."""
    lines = text.splitlines()
    place = 0
    while place < len(lines):
        found = _FRAME.match(lines[place])
        place += 1
        if found is None:
            line = lines[place - 1]
            if line.strip() and not line.startswith("Traceback (most recent call last)"):
                yield Remark(text=line.strip() if _REPEATED.match(line) else line.rstrip()), None
            continue
        code = None
        while place < len(lines) and lines[place].startswith("    "):
            if not _CARETS.match(lines[place]):
                code = lines[place].strip() if code is None else f"{code}\n{lines[place].strip()}"
            place += 1
        frame = Frame(
            path=found["path"],
            line=int(found["line"]),
            function=found["function"] or "<module>",
            code=code,
        )
        yield frame, _library_of(frame.path)


def _library_of(path: str) -> str | None:
    """Return the library of a file; None for the user's own code."""
    if _DEMO.search(path):
        return None  # its workflows stand for those of a user
    package = _PACKAGE.search(path)
    if package is not None:
        return package["name"].removesuffix(".py")
    if _OWN.search(path):
        return "geneva_drive"
    return "Python" if _STANDARD.search(path) else None
