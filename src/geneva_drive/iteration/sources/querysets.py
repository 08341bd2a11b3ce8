"""Django QuerySets as sources of records, without importing Django."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput


def is_queryset(thing: object) -> bool:
    return all(hasattr(thing, name) for name in ("model", "query", "values_list", "order_by"))


class QuerySetRecords:
    """A QuerySet, read in the order of its cursor fields and primary key."""

    def __init__(self, queryset: Any, cursor: Any = "id") -> None:
        self.queryset = _plain(queryset)
        fields = _fields(queryset)
        self.primary_key = _primary_key(queryset.model)
        self.key = _key(queryset, cursor, fields, self.primary_key)
        self._cursor_of = attrgetter(*self.key)
        self._may_be_null = [name for name in self.key if fields[name]]

    def read(self, after: Any, limit: int) -> Sequence[tuple[Any, Any]]:
        cursor_of, model = self._cursor_of, self.queryset.model
        found: dict[Any, Any] = {}
        for items in self._next(self.queryset, after, limit):
            if items and not isinstance(items[0], model):
                raise InvalidInput(
                    f"A loop over records yields instances of {model.__name__}, but the QuerySet "
                    f"has values() or values_list(). Remove it; only() reads fewer columns."
                )
            # A join may return a record more than once.
            found |= {cursor_of(item): item for item in items}
        self._refuse_repetition(after, found)
        return [(item, cursor) for cursor, item in found.items()]

    def read_batch(self, after: Any, size: int) -> tuple[QuerySetBatch, Any] | None:
        keys = self.queryset.values_list(*self.key)
        found = [key for rows in self._next(keys, after, size) for key in rows]
        if not found:
            return None
        self._refuse_repetition(after, map(_bare, found))
        indexes = [self.key.index(name) for name in self.primary_key]
        ids = dict.fromkeys(_bare([key[index] for index in indexes]) for key in found)
        return QuerySetBatch(self, list(ids)), _bare(found[-1])

    def split(self, after: Any, parts: int) -> list[Any]:
        """Return the cursors that divide the records into parts of similar size."""
        self._refuse_compound()
        [name] = self.key
        keys = self.queryset.order_by(name).values_list(name, flat=True)
        keys = keys if after is None else keys.filter(**{f"{name}__gt": after})
        size = keys.count() // parts
        borders: list[Any] = []
        while size and len(borders) < parts - 1:
            found = list(keys[size - 1 : size])
            if not found:  # deleted meanwhile
                break
            borders += found
            keys = keys.filter(**{f"{name}__gt": found[0]})
        return borders

    def cut(self, size: int) -> Iterator[Any]:
        """Yield the cursor of every `size`-th record, and that of the last one."""
        self._refuse_compound()
        [name] = self.key
        keys = self.queryset.order_by(name).values_list(name, flat=True)
        while found := list(keys[size - 1 : size]) or list(keys.reverse()[:1]):
            yield found[0]
            keys = keys.filter(**{f"{name}__gt": found[0]})

    def up_to(self, until: Any) -> QuerySetRecords:
        """Return the same records up to the one with the cursor `until`."""
        [name] = self.key
        return QuerySetRecords(self.queryset.filter(**{f"{name}__lte": until}), name)

    def _refuse_compound(self) -> None:
        if len(self.key) > 1:
            raise InvalidInput(
                f"A QuerySet is divided into partitions by one unique field, but the cursor has "
                f"the fields {', '.join(self.key)}. Use the primary key as cursor=."
            )

    def _next(self, queryset: Any, after: Any, limit: int) -> Iterator[list[Any]]:
        """Yield the records that equal `after` in all fields but the last, then in fewer fields.

        One query with OR would need Django's Q objects, which cannot be imported here, or
        querysets combined with `|`, which join many-valued relations a second time.
        """
        self._refuse_nulls()
        ordered = queryset.order_by(*self.key)
        if after is None:
            yield list(ordered[:limit])
            return
        parts = self._parts(after)
        for count in reversed(range(len(self.key))):
            equal = dict(zip(self.key[:count], parts, strict=False))
            beyond = {f"{self.key[count]}__gt": parts[count]}
            items = list(ordered.filter(**equal, **beyond)[:limit])
            yield items
            limit -= len(items)
            if not limit:
                return

    def _refuse_nulls(self) -> None:
        while self._may_be_null:
            name = self._may_be_null[-1]
            if self.queryset.order_by().filter(**{f"{name}__isnull": True}).exists():
                raise InvalidInput(
                    f"There are records with NULL in the cursor field {name!r}, which the loop "
                    f"would miss. Exclude them with filter({name}__isnull=False), or use another "
                    f"field as cursor=."
                )
            self._may_be_null.pop()

    def _refuse_repetition(self, after: Any, found: Iterable[Any]) -> None:
        """Raise if the loop would not advance, as with floats that are rounded when read."""
        if after is not None and _bare(self._parts(after)) in found:
            raise InvalidInput(
                f"The record with the cursor {shown(after)} comes after itself: the database "
                f"compares {', '.join(self.key)} more exactly than it returns them. Use another "
                f"field as cursor=, such as the primary key."
            )

    def _parts(self, after: Any) -> Sequence[Any]:
        parts = tuple(after) if isinstance(after, tuple | list) else (after,)
        if len(parts) == len(self.key) and None not in parts:
            return parts
        raise InvalidInput(
            f"The saved cursor {shown(after)} does not fit this loop, whose cursor has the fields "
            f"{', '.join(self.key)}. It was saved by another loop. Rewind the step with "
            f"`geneva rewind`, or restore that loop."
        )


class QuerySetBatch:
    """A `gd.RecordBatch` of a QuerySet."""

    def __init__(self, records: QuerySetRecords, ids: list[Any]) -> None:
        self.ids = ids
        self._records = records

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def where(self) -> Any:
        queryset = self._records.queryset
        # Without the query's conditions, because the body may change the fields that they filter
        # by. Not `queryset.db`, which may be a replica if a router sends reads there.
        return queryset.model._base_manager.using(queryset._db).filter(pk__in=self.ids)

    @property
    def rows(self) -> Sequence[Any]:
        records = self._records
        found = records.queryset.filter(pk__in=self.ids).order_by(*records.key)
        return list(dict.fromkeys(found))

    def update(self, session: Any = None, /, **values: Any) -> int:
        if session is not None:
            raise InvalidInput(
                "A batch of a QuerySet is updated on Django's own connection and takes no session. "
                "Use transaction.atomic() instead."
            )
        return int(self.where.update(**values))


def _plain(queryset: Any) -> Any:
    query = queryset.query
    parts = {
        "a slice": query.is_sliced,
        "an order_by()": query.order_by or query.extra_order_by,
        "a reverse()": not query.standard_ordering,
        "a union(), intersection() or difference()": query.combinator,
        "a distinct() of single fields": query.distinct_fields,
        # True stands for an annotation such as Count() per record, which is allowed.
        "values() with aggregates": query.group_by not in (None, True),
    }
    for part, is_there in parts.items():
        if is_there:
            raise InvalidInput(
                f"The QuerySet has {part}, but a resumable loop reads records in the order of its "
                f"cursor. Remove it: narrow with filter(), and name the order as cursor=."
            )
    return queryset


def _fields(queryset: Any) -> dict[str, bool]:
    """Return the fields that can be a cursor, and whether each may be NULL."""
    fields = dict.fromkeys(queryset.query.annotations, True)
    for field in queryset.model._meta.concrete_fields:
        fields[field.attname] = field.null
    return fields


def _primary_key(model: type) -> list[str]:
    meta: Any = model._meta  # type: ignore[attr-defined]  # Django's documented name
    # Django has keys of several fields since version 5.2.
    return [field.attname for field in getattr(meta, "pk_fields", None) or [meta.pk]]


def _key(
    queryset: Any, cursor: Any, fields: dict[str, bool], primary_key: Sequence[str]
) -> list[str]:
    parts = cursor if isinstance(cursor, list | tuple) else [cursor]
    names = [name for part in parts for name in (primary_key if part == "pk" else [part])]
    for name in names:
        if name.startswith("-") and name[1:] in fields:
            raise InvalidInput(
                f"The cursor {name!r} names a direction, but a loop reads its records in ascending "
                f"order; descending is not supported. Pass the field alone as cursor=."
            )
        if name not in fields:
            raise InvalidInput(
                f"{queryset.model.__name__} has no field {name!r} to use as the cursor. Pass one "
                f"of its fields as cursor=; its primary key is {', '.join(primary_key)}."
            )
        if getattr(queryset.query.annotations.get(name), "contains_over_clause", False):
            raise InvalidInput(
                f"{name!r} is a window function, whose values change when a loop resumes, because "
                f"it sees only the records that are left. Use a field as cursor=."
            )
    return list(dict.fromkeys([*names, *primary_key]))


def _bare(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else tuple(parts)
