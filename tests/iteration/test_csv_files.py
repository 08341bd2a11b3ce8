"""Loops over the rows of a CSV file, resumed by the byte."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.errors import CsvChanged, InvalidInput
from geneva_drive.iteration.sources.csv_files import pairs
from geneva_drive.serialization.typed_json import dump, load

PEOPLE = b'name,city\nAnn,Delft\n"Bob\nthe second","New ""York"""\n\nCid,K\xc3\xb6ln\n'
PERSONS = [
    {"name": "Ann", "city": "Delft"},
    {"name": "Bob\nthe second", "city": 'New "York"'},
    {"name": "Cid", "city": "Köln"},
]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(content: bytes) -> Path:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        return path

    return write


def rows(path: Path, cursor: Any = None, **options: Any) -> list[dict[Any, Any]]:
    return [row for row, _ in pairs(path, cursor, **options)]


def cursor_after(path: Path, count: int) -> Any:
    cursors = [None, *(cursor for _, cursor in pairs(path, None))]
    return load(dump(cursors[count]))


@pytest.mark.parametrize(
    "content",
    [
        PEOPLE,
        PEOPLE.replace(b"\n", b"\r\n").replace(b"Bob\r\n", b"Bob\n"),
        PEOPLE.rstrip(b"\n"),
        b"\xef\xbb\xbf" + PEOPLE,
        b"\n\n" + PEOPLE,
    ],
    ids=["newlines", "carriage returns", "no last newline", "byte order mark", "blank lines"],
)
@pytest.mark.parametrize("done", range(4))
def test_from_every_saved_place_the_remaining_rows_follow(
    content: bytes, done: int, write: Callable[[bytes], Path]
) -> None:
    path = write(content)
    cursor = cursor_after(path, done)

    assert rows(path, cursor) == PERSONS[done:]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=5)


@given(st.lists(st.lists(cells, min_size=1, max_size=4), max_size=8), st.data())
def test_rows_are_those_of_a_dict_reader_from_wherever_the_loop_resumes(
    tmp_path_factory: pytest.TempPathFactory, table: list[list[str]], data: st.DataObject
) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([["a", "b"], *table])
    path = tmp_path_factory.getbasetemp() / f"{os.getpid()}.csv"
    path.write_bytes(text.getvalue().encode())
    expected = list(csv.DictReader(io.StringIO(text.getvalue(), newline="")))
    walked = list(pairs(path, None))
    place = data.draw(st.integers(0, len(walked)))

    cursor = [None, *(cursor for _, cursor in walked)][place]

    assert [row for row, _ in walked] == expected
    assert rows(path, cursor) == expected[place:]


def test_a_short_row_is_filled_with_none_and_a_long_one_keeps_its_rest(
    write: Callable[[bytes], Path],
) -> None:
    path = write(b"a,b\n1\n1,2,3,4\n")

    assert rows(path) == [{"a": "1", "b": None}, {"a": "1", "b": "2", None: ["3", "4"]}]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n", b"a,b"], ids=repr)
def test_a_file_without_rows_gives_nothing(content: bytes, write: Callable[[bytes], Path]) -> None:
    assert rows(write(content)) == []


def test_the_options_of_the_csv_module_are_passed_on(write: Callable[[bytes], Path]) -> None:
    path = write(b"a;b\n'1;2';3\n")

    assert rows(path, delimiter=";", quotechar="'") == [{"a": "1;2", "b": "3"}]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("latin-1", b"a\n\xe9\n"),
        ("utf-8-sig", b"\xef\xbb\xbfa\n\xc3\xa9\n"),
        ("cp1252", b"a\n\xe9"),
    ],
)
def test_a_file_in_another_encoding_is_read(
    encoding: str, content: bytes, write: Callable[[bytes], Path]
) -> None:
    assert rows(write(content), encoding=encoding) == [{"a": "é"}]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "UTF-32", "utf-32-be", "cp037"])
def test_an_encoding_whose_newline_is_not_one_byte_is_refused(
    encoding: str, write: Callable[[bytes], Path]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(write(PEOPLE), None, encoding=encoding)

    assert str(refusal.value) == (
        f"A CSV file in {encoding!r} cannot be resumed: rows are found by their byte offset, which "
        "needs an encoding with a one-byte newline. Convert the file to utf-8."
    )


@pytest.mark.parametrize("ending", [b"", b"\n", b"\r\n"], ids=repr)
def test_rows_appended_meanwhile_are_read(ending: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(b"name,city\nAnn,Delft\nBob,Gent" + ending)
    cursor = cursor_after(path, 2)
    appended = b"Cid,Ulm\n" if ending else b"\nCid,Ulm\n"

    path = write(path.read_bytes() + appended)

    assert rows(path, cursor) == [{"name": "Cid", "city": "Ulm"}]


@pytest.mark.parametrize("length", [1022, 1023, 1024, 1025, 5000])
def test_a_line_longer_than_what_is_checked_is_resumed_after(
    length: int, write: Callable[[bytes], Path]
) -> None:
    path = write(b"a\n" + b"x" * length + b"\ny\n")

    assert rows(path, cursor_after(path, 1)) == [{"a": "y"}]


@pytest.mark.parametrize(
    "change",
    [
        (b"name,city", b"name,town"),
        (b"Ann,Delft", b"Ann,Breda"),
        (b"Ann,Delft\n", b""),
        (b"Ann,", b"Anna,"),
        (PEOPLE, b"name,city\n"),
        (PEOPLE, b""),
    ],
    ids=["header", "last row", "row removed", "row lengthened", "rows cut", "all cut"],
)
def test_a_file_that_changed_before_the_cursor_is_refused(
    change: tuple[bytes, bytes], write: Callable[[bytes], Path]
) -> None:
    path = write(PEOPLE)
    cursor = cursor_after(path, 1)
    write(PEOPLE.replace(*change))

    with pytest.raises(CsvChanged) as refusal:
        rows(path, cursor)

    assert (refusal.value.path, refusal.value.offset) == (str(path), 20)
    assert str(refusal.value) == (
        f"The CSV file {str(path)!r} has changed: the bytes before byte 20, where the cursor is, "
        f"are not the ones that were read. Restore the file, or rewind the step with "
        f"`geneva rewind` to read it from its first row."
    )


@pytest.mark.parametrize("done", [0, 1])
def test_a_row_that_is_in_another_encoding_is_named(
    done: int, write: Callable[[bytes], Path]
) -> None:
    path = write(b"name\nAnn\nB\xf6b\n")
    cursor = [None, *(cursor for _, cursor in pairs(path, None, encoding="cp1252"))][done]

    with pytest.raises(InvalidInput) as refusal:
        rows(path, cursor)

    assert str(refusal.value) == (
        f"The file {str(path)!r} is not utf-8 in the row at byte 9: byte 10 is 0xf6. Pass the "
        "encoding of the file, such as encoding='cp1252', or fix the row; then resume."
    )


@pytest.mark.parametrize(
    ("content", "place"),
    [(b"a,b\r1,2\r3,4\r", 0), (b"a,b\n1,2\n3\r4,5\n", 8)],
    ids=["in place of all newlines", "in one line"],
)
def test_a_carriage_return_that_ends_no_row_is_refused(
    content: bytes, place: int, write: Callable[[bytes], Path]
) -> None:
    path = write(content)
    with pytest.raises(InvalidInput) as refusal:
        rows(path)

    assert str(refusal.value) == (
        f"The file {str(path)!r} has a carriage return without a newline in the line at byte "
        f"{place}, but rows must end with a newline. Convert the line endings of the file, or "
        "quote the field; then resume."
    )


def test_another_fault_of_a_file_is_told_by_python(write: Callable[[bytes], Path]) -> None:
    with pytest.raises(csv.Error, match="field larger than field limit"):
        rows(write(b"a\n" + b"x" * 200_000))


def test_an_open_file_in_place_of_its_path_is_refused(write: Callable[[bytes], Path]) -> None:
    with open(write(PEOPLE)) as file, pytest.raises(InvalidInput) as refusal:
        rows(file)  # type: ignore[arg-type]

    assert str(refusal.value) == (
        f"iterate_over_csv() takes the path of a file, got {file!r}. Pass the path: the loop opens "
        "the file itself, at the cursor."
    )


def test_a_last_row_that_was_lengthened_is_refused(write: Callable[[bytes], Path]) -> None:
    path = write(b"a\n1")
    cursor = cursor_after(path, 1)
    write(b"a\n123\n4\n")

    with pytest.raises(
        CsvChanged,
        match="the bytes before byte 3, where the cursor is, are not the ones that were read",
    ):
        rows(path, cursor)


@pytest.mark.parametrize("cursor", [0, "", (20,), (20, "x"), (-1, 0), (20, 1, 2)], ids=repr)
def test_a_cursor_that_is_no_place_in_a_file_is_refused(
    cursor: object, write: Callable[[bytes], Path]
) -> None:
    with pytest.raises(InvalidInput) as refusal:
        pairs(write(PEOPLE), cursor)

    assert str(refusal.value) == (
        f"The saved cursor {cursor!r} is not a position in a CSV file: this loop saves (byte "
        "offset, checksum). It was saved by another loop. Rewind the step with `geneva rewind`, "
        "or restore that loop."
    )


def test_nothing_before_the_place_is_read_but_the_header_and_the_last_line(
    write: Callable[[bytes], Path],
) -> None:
    path = write(b"a\n" + b"readable\n" * 1000 + b"1\n2\n")
    cursor = cursor_after(path, 1001)

    # Bytes that are no utf-8, and as many as there were.
    write(b"a\n" + b"\xff\xff\xff\xff\xff\xff\xff\xff\n" * 1000 + b"1\n2\n")

    assert rows(path, cursor) == [{"a": "2"}]
