"""Checks that a loop can read a select, and finds its columns and key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as clock_time
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Join,
    Label,
    Select,
    Table,
    TypeDecorator,
    UnaryExpression,
    inspect,
)

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

Column = ColumnElement[Any]

_NARROW = "Narrow it with where(), or leave the loop with break."
_GROUPS = (
    "A group has no position in that order. Loop over the table that has one row for each group, "
    "and aggregate in the body."
)
_KEEP_ONE = (
    "The row that it keeps would depend on where the loop resumes. Choose a row with where()."
)
# SQLAlchemy has no public names for these. A plain DISTINCT is allowed: each row contains its
# unique key, so DISTINCT changes nothing.
_REFUSED_PARTS = {
    "_order_by_clauses": ("ORDER BY", "Remove it, and name the order you want as cursor=."),
    "_limit_clause": ("LIMIT", _NARROW),
    "_offset_clause": ("OFFSET", _NARROW),
    "_fetch_clause": ("FETCH", _NARROW),
    "_group_by_clauses": ("GROUP BY", _GROUPS),
    "_having_criteria": ("HAVING", _GROUPS),
    "_distinct_on": ("DISTINCT ON", _KEEP_ONE),
    "_pre_columns_clause": ("DISTINCT ON", _KEEP_ONE),  # from SQLAlchemy 2.1 on
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The tables of a select: its columns by name, and its primary key."""

    name: str
    columns: Sequence[tuple[str, Column]]
    primary_key: Sequence[Column]
    target: Any  # what to UPDATE; None if the rows are of several tables
    target_key: Sequence[Column]
    positions: dict[Any, int] | None  # of columns in a row; None if a row is one entity
    is_joined: bool
    is_outer_joined: bool
    may_repeat: bool  # several rows may have the same key, unlike in a table
    mapper: Any = None  # of the entity, if a row is one


def plain(query: Any) -> Select[Any]:
    if not isinstance(query, Select):
        raise InvalidInput(
            f"A loop over records needs a SQLAlchemy select() or a Django QuerySet, not "
            f"{_told(query)}"
        )
    for attribute, (part, way_out) in _REFUSED_PARTS.items():
        clause = getattr(query, attribute, None)
        # A tuple of clauses may be empty. Do not test a clause itself: it has no truth value.
        is_empty = isinstance(clause, tuple) and not clause
        if clause is not None and not is_empty:
            raise InvalidInput(
                f"The select has {part}, but a resumable loop reads in the order of its cursor. "
                f"{way_out}"
            )
    return query


def _told(given: Any) -> str:
    if isinstance(given, type) and inspect(given, raiseerr=False) is not None:
        return f"the class {given.__qualname__}. Write select({given.__name__})."
    return f"a value of type {type(given).__qualname__}."


def entity_of(query: Select[Any]) -> Source | None:
    described: Any = query.column_descriptions
    entity = described[0].get("entity") if len(described) == 1 else None
    if entity is None or described[0]["expr"] is not entity:
        return None
    mapper: Any = inspect(entity).mapper
    names = [mapper.get_property_by_column(column).key for column in mapper.primary_key]
    froms = query.get_final_froms()
    return Source(
        name=mapper.class_.__name__,
        columns=[(p.key, _expression(getattr(entity, p.key))) for p in mapper.column_attrs],
        primary_key=[_expression(getattr(entity, name)) for name in names],
        target=mapper.class_,
        target_key=[_expression(getattr(mapper.class_, name)) for name in names],
        positions=None,
        is_joined=_is_joined(froms),
        is_outer_joined=any(map(_is_outer, froms)),
        may_repeat=not _is_joined(froms) and _may_repeat(froms[0]),
        mapper=mapper,
    )


def tables_of(query: Select[Any]) -> Source:
    froms = query.get_final_froms()
    if not froms:
        raise InvalidInput(
            "The select reads from no table. Select an entity or columns of a table."
        )
    for table in (table for each in froms for table in _flat(each)):
        if not list(table.primary_key):
            raise InvalidInput(
                f"{table} has no primary key, so equal rows could not be distinguished. Add a "
                f"primary key to the table, or select from a table that has one."
            )
    described: Any = query.column_descriptions
    selected = [(each["name"], _expression(each["expr"])) for each in described]
    names = {name for name, _ in selected}
    others = [(c.key, c) for each in froms for c in each.c if c.key not in names]
    key: list[Any] = [column for each in froms for column in each.primary_key]
    return Source(
        name=", ".join(str(table) for each in froms for table in _flat(each)),
        columns=[*selected, *others],
        primary_key=key,
        target=None if _is_joined(froms) else froms[0],
        target_key=key,
        positions={column: place for place, (_, column) in enumerate(selected)},
        is_joined=_is_joined(froms),
        is_outer_joined=any(map(_is_outer, froms)),
        may_repeat=any(_may_repeat(table) for each in froms for table in _flat(each)),
    )


def _expression(given: Any) -> Any:
    """Return the column of an attribute or label."""
    if hasattr(given, "__clause_element__"):
        given = given.__clause_element__()
    return given.element if isinstance(given, Label) else given


def _flat(source: FromClause) -> list[FromClause]:
    if isinstance(source, Join):
        return [*_flat(source.left), *_flat(source.right)]
    return [source]


def _may_repeat(source: FromClause) -> bool:
    return not isinstance(getattr(source, "element", source), Table)


def _is_joined(froms: Sequence[FromClause]) -> bool:
    return len(froms) > 1 or isinstance(froms[0], Join)


def _is_outer(source: FromClause) -> bool:
    if not isinstance(source, Join):
        return False
    return source.isouter or source.full or _is_outer(source.left) or _is_outer(source.right)


def key_of(source: Source, cursor: Any) -> list[Column]:
    parts = cursor if isinstance(cursor, list | tuple) else [cursor]
    # As keys of a dict, the table's column and the attribute's are equal.
    columns = dict.fromkeys(_resolve(source, part) for part in parts)
    return list(columns | dict.fromkeys(source.primary_key))


def _resolve(source: Source, part: Any) -> Column:
    _refuse_direction(source, part)
    if isinstance(part, str):
        found = [column for name, column in source.columns if name == part]
    else:
        found = [column for _, column in source.columns if hash(column) == hash(_expression(part))]
    candidates = list(dict.fromkeys(found))
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise InvalidInput(
            f"The cursor {shown(part)} may be {' or '.join(map(str, candidates))}. Pass the column "
            f"itself as cursor=."
        )
    raise InvalidInput(
        f"{source.name} has no column {str(part)!r} to use as the cursor. Pass one of its columns "
        f"as cursor=; its primary key is {', '.join(map(str, source.primary_key))}."
    )


def _refuse_direction(source: Source, part: Any) -> None:
    names = {f"-{name}" for name, _ in source.columns}
    is_directed = isinstance(part, UnaryExpression) and part.modifier is not None
    if is_directed or (isinstance(part, str) and part in names):
        raise InvalidInput(
            f"The cursor {str(part)!r} names a direction, but a loop goes through its records in "
            f"ascending order; descending is not supported. Pass the column alone as cursor=."
        )


# Types within a group are interchangeable: a database may return a different number type than was
# stored, but never a number for a text.
_KINDS: tuple[tuple[type[Any], ...], ...] = (
    (bool,),
    (int, float, Decimal),
    (str,),
    (bytes,),
    (date,),  # and moments
    (clock_time,),
    (timedelta,),
    (UUID,),
)


def may_hold(column: Column, value: Any) -> bool:
    """True unless the value is known to be of another kind than the column."""
    if isinstance(column.type, TypeDecorator):
        return True  # its values may have any type
    try:
        return _are_of_one_kind(column.type.python_type, type(value))
    except NotImplementedError:
        return True


def are_alike(value: Any, other: Any) -> bool:
    return _are_of_one_kind(type(value), type(other))


def _are_of_one_kind(first: type[Any], second: type[Any]) -> bool:
    kinds = _kind(first), _kind(second)
    return None in kinds or kinds[0] is kinds[1]


def _kind(python_type: type[Any]) -> tuple[type[Any], ...] | None:
    return next((kind for kind in _KINDS if issubclass(python_type, kind)), None)


def positions(source: Source, key: Sequence[Column]) -> Sequence[int]:
    positions = source.positions
    if positions is None:
        return range(1, len(key) + 1)
    missing = [str(column) for column in key if column not in positions]
    if missing:
        raise InvalidInput(
            f"The select does not return {', '.join(missing)}, which the loop needs to resume. Add "
            f"it to the selected columns."
        )
    return [positions[column] for column in key]
