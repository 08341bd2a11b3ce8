"""The rows of a CSV file; the cursor is the byte at which the next row begins, and a checksum.

The checksum covers the header and the last line before that byte (at most its last 1024 bytes), so
it costs one short CRC per row, and a resumed loop reads nothing else before its cursor. It detects
a changed header, a truncated file, and inserted or removed rows, unless an equal line ends at the
same byte. It does not detect earlier rows that were replaced by the same number of bytes. Appended
rows are read.
"""

from __future__ import annotations

import codecs
import csv
import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO
from zlib import crc32

from geneva_drive.display import shown
from geneva_drive.errors import CsvChanged, InvalidInput

CsvRow = dict[str | None, Any]
Cursor = tuple[int, int]
Path = str | os.PathLike[str]

_TAIL = 1024


def pairs(
    path: Path, cursor: Any, *, encoding: str = "utf-8", **csv_options: Any
) -> Iterator[tuple[CsvRow, Cursor]]:
    """Yield each row as a dict, like `csv.DictReader`; takes the options of `csv.reader`."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidInput(
            f"iterate_over_csv() takes the path of a file, got {shown(path)}. Pass the path: the "
            f"loop opens the file itself, at the cursor."
        )
    saved = None if cursor is None else _saved(cursor)
    return _rows(path, saved, _byte_encoding(encoding), csv_options)


def _rows(
    path: Path, saved: Cursor | None, encoding: str, csv_options: dict[str, Any]
) -> Iterator[tuple[CsvRow, Cursor]]:
    with open(path, "rb") as file:
        lines = _Lines(file, path, encoding)
        try:
            reader = csv.reader(lines, **csv_options)
            header = next(filter(None, reader), [])
            header_sum = _checksum_of_header(file, lines.offset)
            if saved is not None:
                _require_unchanged(file, path, saved, lines.offset, header_sum)
                lines.go_to(saved[0])
            width = len(header)
            for row in reader:
                if len(row) == width:
                    item: CsvRow = dict(zip(header, row, strict=True))
                elif row:
                    item = _uneven(header, row)
                else:
                    continue
                yield item, (lines.offset, crc32(lines.last[-_TAIL:], header_sum))
        except csv.Error as error:
            lines.refuse_bare_returns(error)
            raise


class _Lines:
    """The decoded lines of a file, and the byte offset of the next one."""

    def __init__(self, file: BinaryIO, path: Path, encoding: str) -> None:
        self._file = file
        self._path = path
        self._encoding = encoding
        self.last = b""
        has_mark = encoding == "utf-8" and file.read(3) == codecs.BOM_UTF8
        self.go_to(3 if has_mark else 0)

    def go_to(self, offset: int) -> None:
        self._file.seek(offset)
        self.offset = offset

    def __iter__(self) -> Iterator[str]:
        encoding = self._encoding
        for line in self._file:
            try:
                text = line.decode(encoding)
            except UnicodeDecodeError as error:
                raise self._undecodable(error) from error
            self.offset += len(line)
            self.last = line
            yield text

    def refuse_bare_returns(self, error: csv.Error) -> None:
        """Raise if a line has bare carriage returns, which older Mac files use to end rows."""
        if b"\r" in self.last.rstrip(b"\r\n"):
            raise InvalidInput(
                f"The file {os.fspath(self._path)!r} has a carriage return without a newline in "
                f"the line at byte {self.offset - len(self.last)}, but rows must end with a "
                f"newline. Convert the line endings of the file, or quote the field; then resume."
            ) from error

    def _undecodable(self, error: UnicodeDecodeError) -> InvalidInput:
        byte, at = error.object[error.start], self.offset + error.start
        return InvalidInput(
            f"The file {os.fspath(self._path)!r} is not {self._encoding} in the row at byte "
            f"{self.offset}: byte {at} is 0x{byte:02x}. Pass the encoding of the file, such as "
            f"encoding='cp1252', or fix the row; then resume."
        )


def _uneven(header: Sequence[str], row: list[str]) -> CsvRow:
    width = len(header)
    item: CsvRow = dict(zip(header, row, strict=False))
    if len(row) > width:
        item[None] = row[width:]
    for name in header[len(row) :]:
        item[name] = None
    return item


def _checksum_of_header(file: BinaryIO, end: int) -> int:
    file.seek(0)
    return crc32(file.read(end))


def _require_unchanged(
    file: BinaryIO, path: Path, saved: Cursor, header_end: int, header_sum: int
) -> None:
    offset, checksum = saved
    start = max(header_end, offset - _TAIL - 1)
    file.seek(start)
    before = file.read(max(offset - start, 0))
    line = before[before.rfind(b"\n", 0, -1) + 1 :][-_TAIL:]
    # A last row without a newline may have been extended since.
    is_cut_through = not line.endswith(b"\n") and file.read(1) not in (b"", b"\r", b"\n")
    is_short = start + len(before) != offset
    if is_short or is_cut_through or crc32(line, header_sum) != checksum:
        raise CsvChanged(os.fspath(path), offset)


def _byte_encoding(encoding: str) -> str:
    name = codecs.lookup(encoding).name
    if name == "utf-8-sig":
        return "utf-8"
    if "\n".encode(name) != b"\n":
        raise InvalidInput(
            f"A CSV file in {shown(encoding)} cannot be resumed: rows are found by their byte "
            f"offset, which needs an encoding with a one-byte newline. Convert the file to utf-8."
        )
    return name


def _saved(cursor: Any) -> Cursor:
    match cursor:
        case (int(offset), int(checksum)) if offset >= 0:
            return offset, checksum
    raise InvalidInput(
        f"The saved cursor {shown(cursor)} is not a position in a CSV file: this loop saves (byte "
        f"offset, checksum). It was saved by another loop. Rewind the step with `geneva rewind`, "
        f"or restore that loop."
    )
