"""A workflow document in a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geneva_drive.errors import Fault

if TYPE_CHECKING:
    from geneva_drive.declarative.document import Document

_LINE = re.compile(r": line (\d+) column \d+")

FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file, and the document in it or its faults."""

    path: Path
    document: Document | None
    faults: list[Fault]
    lines: Mapping[str, int]  # of each path in the file

    def line_of(self, fault: Fault) -> int:
        from geneva_drive.declarative.source.lines import line_of

        # A text that is not JSON has no paths; the error of its parser names the line.
        unread = _LINE.search(fault.message) if fault.path == "$" else None
        return int(unread[1]) if unread else line_of(fault.path, self.lines)


def read_document(path: Path) -> DocumentFile:
    # Imported here because they load pydantic and packages of the extra `json`.
    from geneva_drive.declarative import validator
    from geneva_drive.declarative.source.lines import lines_of

    written = path.read_bytes()
    document, faults = validator.examine(written)
    readable = len(written) <= validator.MAX_SIZE
    lines = lines_of(written.decode(errors="replace")) if faults and readable else {"$": 1}
    return DocumentFile(path, document, faults, lines)
