"""The Python files whose changes restart `geneva dev`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

# Nanoseconds of the last change, and the size.
Stamps = Mapping[Path, tuple[int, int]]

_LEFT_OUT = {"node_modules", "site-packages", "__pycache__"}
_MARK_OF_ENVIRONMENT = "pyvenv.cfg"


def roots_of(app: str | None, folder: Path) -> list[Path]:
    """Return the folders and files to watch: the current folder, and where the app is."""
    found = [folder]
    if app is not None:
        spec = PathFinder.find_spec(app.partition(":")[0].partition(".")[0])
        if spec is not None:
            places = spec.submodule_search_locations or filter(None, [spec.origin])
            found += [Path(place).resolve() for place in places]
    return [path for path in dict.fromkeys(found) if not any(o in path.parents for o in found)]


def read_stamps(roots: Iterable[Path]) -> Stamps:
    """Return the stamp of each Python file outside hidden folders and virtual environments."""
    stamps: dict[Path, tuple[int, int]] = {}
    for root in roots:
        for path in _python_files(root):
            with suppress(OSError):  # it was removed meanwhile
                found = path.stat()
                stamps[path] = (found.st_mtime_ns, found.st_size)
    return stamps


def changed(before: Stamps, after: Stamps) -> list[Path]:
    """Return the files that were written, added or removed."""
    return sorted({path for path, _ in before.items() ^ after.items()})


def _python_files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    for folder, folders, files in os.walk(root):
        if _MARK_OF_ENVIRONMENT in files:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name[0] != "." and name not in _LEFT_OUT]
        yield from (Path(folder, name) for name in files if name.endswith(".py"))
