"""A select read in the order of a key, from after the last row seen, however the rows change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Integer,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    tuple_,
    update,
)

from geneva_drive.errors import InvalidInput, NullCursor
from geneva_drive.storage.query_sources import (
    Column,
    are_alike,
    entity_of,
    key_of,
    may_hold,
    plain,
    positions,
    tables_of,
)

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

OpenSession = Callable[[], "AbstractContextManager[Session]"]

_LIMIT = "geneva_limit"


class Keyset:
    """One walk through a select, in the order of its cursor columns and primary key.

    `open_session` gives a session for each read, and for `RowBatch.update` one whose commit is
    final. With `detach=False` it gives the step's own: entities stay in it and nothing is
    committed here.
    """

    def __init__(
        self, query: Any, cursor: Any = "id", *, open_session: OpenSession, detach: bool = True
    ) -> None:
        self._query = query = plain(query)
        self._cursor = cursor
        self._source = source = entity_of(query) or tables_of(query)
        self._key = key = key_of(source, cursor)
        self._open = open_session
        self._detach = detach
        self._is_entity = source.positions is None
        # The key is read beside an entity, whose attributes may be deferred, or old and changed.
        self._statements = _statements(query.add_columns(*key) if self._is_entity else query, key)
        self._cursor_of = itemgetter(*positions(source, key))
        self._may_be_null = [
            column for column in key if source.is_outer_joined or getattr(column, "nullable", True)
        ]
        self._last: Any = None  # cursor that was read here, and is not from elsewhere

    def read(self, after: Any, limit: int) -> Sequence[tuple[Any, Any]]:
        with self._open() as session:
            found = self._fetch(session, self._statements, after, limit)
            cursor_of = self._cursor_of
            if self._is_entity:
                pairs = [(row[0], cursor_of(row)) for row in found.all()]
                if self._detach:
                    session.expunge_all()
            else:
                pairs = [(row, cursor_of(row)) for row in found.all()]
            if pairs:
                self._last = pairs[-1][1]
            return pairs

    def read_batch(self, after: Any, size: int) -> tuple[RowBatch, Any] | None:
        if self._source.target is None:
            raise InvalidInput(
                "A batch is a group of one table's rows, but the select takes rows from several "
                "tables. Select one entity, or the columns of one table, and join in where()."
            )
        with self._open() as session:
            statements, cursor_of = self._key_statements
            found = self._fetch(session, statements, after, size)
            keys = [cursor_of(row) for row in found.all()]
        if not keys:
            return None
        self._last = keys[-1]
        return RowBatch(self, list(dict.fromkeys(map(self._id_of, keys)))), keys[-1]

    def split(self, after: Any, parts: int) -> list[Any]:
        """Find the cursors between so many parts of about the same size; fewer if there are few."""
        with self._open() as session:
            total = session.scalar(self._counting(after)) or 0
        size = total // parts
        borders: list[Any] = []
        while size and len(borders) < parts - 1:
            with self._open() as session:
                statements, cursor_of = self._key_statements
                found = self._fetch(session, statements.at(size - 1), after, 1).all()
            if not found:  # deleted meanwhile
                break
            after = cursor_of(found[0])
            borders.append(after)
        return borders

    def up_to(self, until: Any) -> Keyset:
        """Give the same walk with an end: the last record is that of the cursor `until`."""
        within = _up_to(self._key, self._parts(until))
        return Keyset(
            self._query.where(within), self._cursor, open_session=self._open, detach=self._detach
        )

    def _counting(self, after: Any) -> Select[Any]:
        keys = self._query.with_only_columns(*self._key, maintain_column_froms=True)
        rows = keys if after is None else keys.where(_beyond(self._key, self._parts(after)))
        return select(func.count()).select_from(rows.subquery())

    def rows(self, ids: Sequence[Any]) -> Sequence[Any]:
        among = _among(self._source.primary_key, ids)
        statement = self._query.where(among).order_by(*self._key)
        with self._open() as session:
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
        return _among(self._source.target_key, ids)

    @cached_property
    def _key_statements(self) -> tuple[_Statements, Callable[[Any], Any]]:
        # Options of an entity are refused by a select without it, so it is loaded along with them.
        if self._is_entity and self._query._with_options:
            return self._statements, self._cursor_of
        keys = self._query.with_only_columns(*self._key, maintain_column_froms=True)
        return _statements(keys, self._key), itemgetter(*range(len(self._key)))

    @cached_property
    def _id_of(self) -> Callable[[Any], Any]:
        if len(self._key) == 1:
            return lambda key: key
        places = {column: place for place, column in enumerate(self._key)}
        return itemgetter(*(places[column] for column in self._source.primary_key))

    def _fetch(self, session: Session, statements: _Statements, after: Any, limit: int) -> Any:
        while self._may_be_null:
            _refuse_nulls(session, self._query, self._may_be_null[-1])
            self._may_be_null.pop()
        if after is None:
            result = session.execute(statements.first, {_LIMIT: limit})
        else:
            parts = self._parts(after)
            if after is not self._last:
                self._require_same_kinds(session, after, parts)
            values = dict(zip(_names(self._key), parts, strict=True))
            result = session.execute(statements.later, {_LIMIT: limit, **values})
        # An entity is repeated by a join of the user's, or by one that loads something along.
        return result.unique() if self._is_entity and self._source.is_joined else result

    def _parts(self, after: Any) -> Sequence[Any]:
        parts = tuple(after) if isinstance(after, tuple | list) else (after,)
        if len(parts) == len(self._key) and None not in parts:
            return parts
        raise self._other_loops(after)

    def _require_same_kinds(self, session: Session, after: Any, parts: Sequence[Any]) -> None:
        """Refuse a cursor that no row could have: SQLite would compare text with numbers."""
        if all(map(may_hold, self._key, parts)):
            return
        # What is in a table may differ from what is declared of it: the first row tells.
        statements, cursor_of = self._key_statements
        first = session.execute(statements.first, {_LIMIT: 1}).first()
        if first is not None and not all(map(are_alike, self._parts(cursor_of(first)), parts)):
            raise self._other_loops(after)

    def _other_loops(self, after: Any) -> InvalidInput:
        return InvalidInput(
            f"The saved cursor {after!r} does not fit this loop, whose cursor is made of "
            f"{', '.join(map(str, self._key))}. It was saved by another loop. Rewind the step with "
            f"`geneva rewind`, or put that loop back."
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


@dataclass(frozen=True, slots=True)
class _Statements:
    first: Select[Any]
    later: Select[Any]

    def at(self, offset: int) -> _Statements:
        return _Statements(self.first.offset(offset), self.later.offset(offset))


def _statements(query: Select[Any], key: Sequence[Column]) -> _Statements:
    first = query.order_by(*key).limit(bindparam(_LIMIT, type_=Integer))
    values = [
        bindparam(name, type_=column.type) for name, column in zip(_names(key), key, strict=True)
    ]
    return _Statements(first, first.where(_beyond(key, values)))


def _names(key: Sequence[Column]) -> list[str]:
    return [f"geneva_after_{place}" for place in range(len(key))]


def _beyond(key: Sequence[Column], values: Sequence[Column]) -> Column:
    """Compare by the first column, and where it is equal by the next.

    The first column stands alone in an AND, so that an index on it can be used.
    """
    column, value = key[0], values[0]
    if len(key) == 1:
        return column > value
    return and_(column >= value, or_(column > value, _beyond(key[1:], values[1:])))


def _up_to(key: Sequence[Column], values: Sequence[Any]) -> Column:
    """Hold of what is not beyond, put so that an index on the first column is used."""
    column, value = key[0], values[0]
    if len(key) == 1:
        within: Column = column <= value
        return within
    return and_(column <= value, or_(column < value, _up_to(key[1:], values[1:])))


def _among(key: Sequence[Column], ids: Sequence[Any]) -> Column:
    return key[0].in_(ids) if len(key) == 1 else tuple_(*key).in_(ids)


def _refuse_nulls(session: Session, query: Select[Any], column: Column) -> None:
    if session.scalar(select(query.where(column.is_(None)).exists())):
        raise NullCursor(str(column))


def _rowcount(session: Session, statement: Any) -> int:
    result: Any = session.execute(statement)
    return int(result.rowcount)
