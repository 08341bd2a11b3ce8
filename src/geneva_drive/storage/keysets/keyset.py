"""A select, read in chunks in the order of a key, while its rows may change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice, pairwise, takewhile
from operator import eq, itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select, tuple_, type_coerce, update

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, NullCursor
from geneva_drive.storage.keysets.chunk_reader import ChunkReader, key_reader, record_reader
from geneva_drive.storage.keysets.chunk_statements import beyond, up_to
from geneva_drive.storage.keysets.cursor_errors import CursorNotExact, RepeatedKey
from geneva_drive.storage.keysets.exactness_check import ExactnessCheck
from geneva_drive.storage.keysets.key_columns import KeyColumn, key_column
from geneva_drive.storage.keysets.query_shape import (
    Column,
    are_alike,
    entity_of,
    key_of,
    plain,
    positions,
    tables_of,
)

if TYPE_CHECKING:
    from sqlalchemy import Dialect
    from sqlalchemy.orm import Session

OpenSession = Callable[[], "AbstractContextManager[Session]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readers:
    """The readers of a select on one type of database."""

    dialect: Dialect
    key: Sequence[KeyColumn]
    query: Select[Any]  # with the end of the walk as a condition
    records: ChunkReader
    keys: ChunkReader
    exactness: ExactnessCheck


class Keyset:
    """One walk through a select, in the order of its cursor columns and primary key.

    `open_session` opens a session for each read and each `RowBatch.update`, which commits. With
    `detach=False` it returns the step's own session: entities remain in it, and nothing is
    committed here. The record at the cursor `until` is the last one.
    """

    def __init__(
        self,
        query: Any,
        cursor: Any = "id",
        *,
        open_session: OpenSession,
        detach: bool = True,
        until: Any = None,
    ) -> None:
        self._query = query = plain(query)
        self._cursor = cursor
        self._source = source = entity_of(query) or tables_of(query)
        self._columns = columns = key_of(source, cursor)
        self._places = positions(source, columns)
        self._open = open_session
        self._detach = detach
        self._until = None if until is None else self._parts(until)
        self._is_entity = source.positions is None
        self._has_options = self._is_entity and bool(query._with_options)
        self._readers: _Readers | None = None
        self._may_be_null = [
            column
            for column in columns
            if source.is_outer_joined or getattr(column, "nullable", True)
        ]
        self._looked_for_nulls = False
        self._last: Any = None  # the last cursor that this object read
        self._ties = 0  # the number of columns in which its whole chunk was equal

    def read(self, after: Any, limit: int) -> Sequence[tuple[Any, Any]]:
        with self._open() as session:
            items, keys = self._fetch(session, self._on(session).records, after, limit)
            if self._is_entity and self._detach:
                session.expunge_all()
            return list(zip(items, keys, strict=True))

    def read_batch(self, after: Any, size: int) -> tuple[RowBatch, Any] | None:
        if self._source.target is None:
            raise InvalidInput(
                "A batch is a group of one table's rows, but the select takes rows from several "
                "tables. Select one entity, or the columns of one table, and join in where()."
            )
        with self._open() as session:
            _, keys = self._fetch(session, self._on(session).keys, after, size)
        if not keys:
            return None
        return RowBatch(self, list(dict.fromkeys(map(self._id_of, keys)))), keys[-1]

    def split(self, after: Any, parts: int) -> list[Any]:
        """Return the cursors between `parts` parts of about equal size; fewer for few rows."""
        with self._open() as session:
            readers = self._on(session)
            self._check(session, readers, after)
            total = session.scalar(self._counting(readers, after)) or 0
        size = total // parts
        # There are fewer cursors if rows are deleted meanwhile.
        return list(islice(self._every(readers, after, size), parts - 1)) if size else []

    def cut(self, size: int) -> Iterator[Any]:
        """Yield the cursor of every `size`-th row, and that of the very last row."""
        with self._open() as session:
            readers = self._on(session)
            self._check(session, readers, None)
        last = None
        for border in self._every(readers, None, size):
            yield border
            last = border
        with self._open() as session:
            values = None if last is None else self._parts(last)
            rest = session.scalar(self._counting(readers, last)) or 0
            border = readers.keys.key_at(session, values, rest - 1) if rest else None
        if border is not None:
            yield border

    def _every(self, readers: Any, after: Any, size: int) -> Iterator[Any]:
        while True:
            with self._open() as session:
                values = None if after is None else self._parts(after)
                after = readers.keys.key_at(session, values, size - 1)
            if after is None:
                return
            yield after

    def up_to(self, until: Any) -> Keyset:
        """Return the same walk with an end: the record at the cursor `until`."""
        return Keyset(
            self._query, self._cursor, open_session=self._open, detach=self._detach, until=until
        )

    def rows(self, ids: Sequence[Any]) -> Sequence[Any]:
        with self._open() as session:
            readers = self._on(session)
            among = self._among(self._source.primary_key, ids)
            statement = readers.query.where(among).order_by(*(part.place for part in readers.key))
            if not self._is_entity:
                return session.execute(statement).all()
            entities = session.scalars(statement).unique().all()
            if self._detach:
                session.expunge_all()
            return entities

    def update(self, session: Session | None, ids: Sequence[Any], values: dict[str, Any]) -> int:
        target: Any = self._source.target
        statement = update(target).where(self.where(ids)).values(**values)
        if session is not None:
            return _rowcount(session, statement)
        with self._open() as own:
            count = _rowcount(own, statement)
            if self._detach:
                own.commit()
            return count

    def where(self, ids: Sequence[Any]) -> Column:
        return self._among(self._source.target_key, ids)

    def _on(self, session: Session) -> _Readers:
        """Return the readers for the session's database, which only a session knows."""
        if self._readers is None:
            mapper = self._source.mapper
            dialect = session.get_bind(mapper=mapper, clause=self._query).dialect
            self._readers = self._readers_for(dialect)
        return self._readers

    def _readers_for(self, dialect: Dialect) -> _Readers:
        key = [key_column(column, dialect) for column in self._columns]
        query = self._query
        if self._until is not None:
            query = query.where(up_to(key, _literal(key, self._until)))
        records = record_reader(query, self._source, key, self._places)
        # A select of only keys refuses an entity's options, so the entity is loaded as well.
        keys = records if self._has_options else key_reader(query, self._source, key)
        exactness = ExactnessCheck(self._query, key, self._source.primary_key)
        return _Readers(
            dialect=dialect,
            key=key,
            query=query,
            records=records,
            keys=keys,
            exactness=exactness,
        )

    def _counting(self, readers: _Readers, after: Any) -> Select[Any]:
        keys = readers.query.with_only_columns(*self._columns, maintain_column_froms=True)
        if after is not None:
            keys = keys.where(beyond(readers.key, _literal(readers.key, self._parts(after))))
        return select(func.count()).select_from(keys.subquery())

    @property
    def _id_of(self) -> Callable[[Any], Any]:
        if len(self._columns) == 1:
            return lambda key: key
        places = {column: place for place, column in enumerate(self._columns)}
        return itemgetter(*(places[column] for column in self._source.primary_key))

    def _among(self, columns: Sequence[Column], ids: Sequence[Any]) -> Column:
        assert self._readers is not None  # a batch was read
        parts = {part.column: part for part in self._readers.key}
        compared = [
            column if part.is_shown_as_it_is else type_coerce(column, part.value_type)
            for column, part in zip(
                columns, map(parts.__getitem__, self._source.primary_key), strict=True
            )
        ]
        return compared[0].in_(ids) if len(compared) == 1 else tuple_(*compared).in_(ids)

    def _fetch(
        self, session: Session, reader: ChunkReader, after: Any, limit: int
    ) -> tuple[list[Any], list[Any]]:
        looked_for_nulls = self._looked_for_nulls
        self._check(session, self._on(session), after)
        parts = None if after is None else self._parts(after)
        ties = self._ties if after is self._last else len(self._columns) - 1
        # One more row shows whether the next chunk would begin with the last key of this one.
        wanted = limit + 1 if self._source.may_repeat else limit
        items, keys = reader.read(session, parts, wanted, ties=ties)
        if keys:
            self._refuse_repetition(after, keys)
            items, keys = items[:limit], keys[:limit]
            self._ties = self._ties_of(keys[0] if after is None else after, keys[-1])
            self._last = keys[-1]
            self._require_exact(session, keys[-1])
        elif looked_for_nulls:
            self._refuse_nulls(session)  # NULLs that were written during the loop
        return items, keys

    def _check(self, session: Session, readers: _Readers, after: Any) -> None:
        if not self._looked_for_nulls:
            self._refuse_nulls(session)
            self._looked_for_nulls = True
        if after is not None and after is not self._last:
            self._require_same_kinds(session, readers, after)
            self._require_exact(session, after)

    def _refuse_nulls(self, session: Session) -> None:
        for column in reversed(self._may_be_null):
            if session.scalar(select(self._query.where(column.is_(None)).exists())):
                raise NullCursor(str(column))

    def _refuse_repetition(self, after: Any, keys: Sequence[Any]) -> None:
        if after is not None and self._parts(after) == self._parts(keys[0]):
            raise CursorNotExact(after, list(map(str, self._columns)))
        # Entities that a join repeats have been removed already.
        if any(map(eq, keys, islice(keys, 1, None))):
            repeated = next(key for key, other in pairwise(keys) if key == other)
            raise RepeatedKey(repeated, list(map(str, self._columns)))

    def _require_exact(self, session: Session, cursor: Any) -> None:
        exactness = self._on(session).exactness
        if exactness.is_needed and not self._has_options:
            exactness.require(session, cursor, self._parts(cursor))

    def _ties_of(self, first: Any, last: Any) -> int:
        pairs = zip(self._parts(first)[:-1], self._parts(last), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _parts(self, after: Any) -> tuple[Any, ...]:
        parts = tuple(after) if isinstance(after, tuple | list) else (after,)
        if len(parts) == len(self._columns) and None not in parts:
            return parts
        raise self._other_loops(after)

    def _require_same_kinds(self, session: Session, readers: _Readers, after: Any) -> None:
        """Raise for a cursor that no row could have: SQLite would compare text with numbers."""
        parts = self._parts(after)
        pairs = zip(readers.key, parts, strict=True)
        if all(column.may_be(part, readers.dialect) for column, part in pairs):
            return
        # A table may contain other types than declared: check the first row.
        first = readers.keys.key_at(session, None, 0)
        if first is not None and not all(map(are_alike, self._parts(first), parts)):
            raise self._other_loops(after)

    def _other_loops(self, after: Any) -> InvalidInput:
        return InvalidInput(
            f"The saved cursor {shown(after)} does not fit this loop, whose cursor is made of "
            f"{', '.join(map(str, self._columns))}. It was saved by another loop. Rewind the step "
            f"with `geneva rewind`, or restore that loop."
        )


class RowBatch:
    """A `gd.RecordBatch` of a select."""

    def __init__(self, keyset: Keyset, ids: list[Any]) -> None:
        self.ids = ids
        self._keyset = keyset

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def where(self) -> Column:
        return self._keyset.where(self.ids)

    @property
    def rows(self) -> Sequence[Any]:
        return self._keyset.rows(self.ids)

    def update(self, session: Session | None = None, /, **values: Any) -> int:
        return self._keyset.update(session, self.ids, values)


def _literal(key: Sequence[KeyColumn], values: Sequence[Any]) -> Sequence[Column]:
    return [part.value(None, value) for part, value in zip(key, values, strict=True)]


def _rowcount(session: Session, statement: Any) -> int:
    result: Any = session.execute(statement)
    return int(result.rowcount)
