"""Records read in the order of a key: each once, whatever happens to them meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Uuid,
    delete,
    event,
    func,
    inspect,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    aliased,
    joinedload,
    mapped_column,
    relationship,
    selectinload,
)

import geneva_drive as gd
from geneva_drive.errors import InvalidInput, NullCursor
from geneva_drive.iteration.sources.records import batch_pairs, pairs
from geneva_drive.serialization.typed_json import dump, load
from geneva_drive.storage.keysets.keyset import Keyset
from geneva_drive.storage.schema.column_types import Moment
from tests.users_tables import make_empty


class Base(DeclarativeBase):
    """The users' own tables."""

    __geneva_type__ = "KeysetRecord"  # other tests have heroes named Author and Parcel


class Author(Base):
    __tablename__ = "keyset_authors"
    __mapper_args__ = {  # noqa: RUF012 - as mapped classes are written
        "polymorphic_on": "kind",
        "polymorphic_identity": "author",
    }

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(50))
    rating: Mapped[int]
    born_on: Mapped[date | None]
    kind: Mapped[str] = mapped_column(String(10))
    books: Mapped[list[Book]] = relationship(order_by="Book.id")


class Poet(Author):
    __mapper_args__ = {"polymorphic_identity": "poet"}  # noqa: RUF012 - as above


class Book(Base):
    __tablename__ = "keyset_books"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    author_id: Mapped[int] = mapped_column(ForeignKey("keyset_authors.id"))


class Stay(Base):
    __tablename__ = "keyset_stays"

    hotel: Mapped[str] = mapped_column(String(20), primary_key=True)
    night: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    price: Mapped[int]


class Parcel(Base):
    __tablename__ = "keyset_parcels"

    id: Mapped[UUID] = mapped_column(Uuid(), primary_key=True)
    code: Mapped[str] = mapped_column(String(20))
    sent_at: Mapped[datetime] = mapped_column(Moment())


AUTHORS: Table = Author.__table__  # type: ignore[assignment]  # it is a Table
KEYLESS = Table("keyset_notes", MetaData(), Column("id", Integer), Column("body", String(20)))

# Rating and id are in different orders, with ties in the rating.
RATINGS = {1: 3, 2: 1, 3: 3, 4: 2, 5: 3, 6: 1, 7: 3}
BY_RATING = [(1, 2), (1, 6), (2, 4), (3, 1), (3, 3), (3, 5), (3, 7)]
STAYS = [("Astor", 1), ("Astor", 2), ("Astor", 9), ("Blick", 1), ("Blick", 2)]
MOMENTS = [datetime(2026, 1, day, 12, 30, 15, 250_000, tzinfo=UTC) for day in (1, 2, 2, 3)]


@pytest.fixture
def library(geneva: gd.Drive) -> gd.Drive:
    make_empty(geneva.engine, Base.metadata)
    with Session(geneva.engine) as session:
        session.add_all(
            (Poet if key % 2 else Author)(id=key, name=f"Author {key}", rating=rating)
            for key, rating in RATINGS.items()
        )
        session.flush()
        session.add_all(Book(id=10 * key + n, author_id=key) for key in (1, 2, 5) for n in (1, 2))
        session.add_all(Stay(hotel=hotel, night=night, price=50) for hotel, night in STAYS)
        session.add_all(
            Parcel(id=UUID(int=place), code=code, sent_at=moment)
            for place, (code, moment) in enumerate(zip(["b", "a", "", "c"], MOMENTS, strict=True))
        )
        session.commit()
    return geneva


@pytest.fixture
def read(library: gd.Drive) -> Callable[..., Keyset]:
    """Open a select for one read-through."""

    def read(query: Any, cursor: Any = "id") -> Keyset:
        return Keyset(query, cursor, open_session=lambda: Session(library.engine))

    return read


def ids(keyset: Keyset, after: Any = None, chunk: int = 2) -> list[Any]:
    return [item.id for item, _ in pairs(keyset, after, chunk)]


def cursors(keyset: Keyset, after: Any = None, chunk: int = 2) -> list[Any]:
    return [cursor for _, cursor in pairs(keyset, after, chunk)]


def execute(drive: gd.Drive, statement: Any) -> None:
    with drive.engine.begin() as connection:
        connection.execute(statement)


def refusal_of(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as refusal:
        act()
    return str(refusal.value)


def test_a_select_of_one_entity_gives_entities_that_are_usable_afterwards(
    read: Callable[..., Keyset],
) -> None:
    found = read(select(Author)).read(None, 2)

    assert [(author.name, cursor) for author, cursor in found] == [("Author 1", 1), ("Author 2", 2)]
    assert [type(author) for author, _ in found] == [Poet, Author]
    assert all(inspect(author).detached for author, _ in found)


def test_a_select_of_columns_gives_rows(read: Callable[..., Keyset]) -> None:
    found = read(select(Author.name, Author.id)).read(None, 2)

    assert found == [(("Author 1", 1), 1), (("Author 2", 2), 2)]
    assert found[0][0].name == "Author 1"


def test_a_select_of_a_table_gives_rows(read: Callable[..., Keyset]) -> None:
    found = read(select(AUTHORS).where(AUTHORS.c.rating == 2)).read(None, 2)

    assert [(row.name, cursor) for row, cursor in found] == [("Author 4", 4)]


@pytest.mark.parametrize("chunk", [1, 2, 7, 100])
@pytest.mark.parametrize("done", range(8))
def test_from_every_saved_key_the_remaining_records_follow(
    chunk: int, done: int, read: Callable[..., Keyset]
) -> None:
    cursor = [None, *RATINGS][done]

    assert ids(read(select(Author)), cursor, chunk) == [1, 2, 3, 4, 5, 6, 7][done:]


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("done", range(8))
def test_rows_that_are_equal_in_the_cursor_column_are_told_apart_by_their_key(
    chunk: int, done: int, read: Callable[..., Keyset]
) -> None:
    cursor = [None, *BY_RATING][done]

    assert cursors(read(select(Author), "rating"), cursor, chunk) == BY_RATING[done:]


@pytest.mark.parametrize(
    "cursor",
    [
        "rating",
        Author.rating,
        AUTHORS.c.rating,
        ["rating"],
        ("rating", "id"),
        [Author.rating, Author.id],
        [AUTHORS.c.rating, Author.id],
    ],
    ids=["name", "attribute", "column", "list", "with key", "attributes", "mixed"],
)
@pytest.mark.parametrize(
    "query", [select(Author), select(Author.id, Author.rating), select(AUTHORS)], ids=str
)
def test_the_cursor_is_named_in_many_ways(
    query: Select[Any], cursor: Any, read: Callable[..., Keyset]
) -> None:
    assert cursors(read(query, cursor)) == BY_RATING


def test_a_cursor_of_several_columns_compares_one_after_the_other(
    read: Callable[..., Keyset],
) -> None:
    keyset = read(select(Author), ["kind", "rating"])

    assert cursors(keyset, None, 1) == [
        ("author", 1, 2),
        ("author", 1, 6),
        ("author", 2, 4),
        ("poet", 3, 1),
        ("poet", 3, 3),
        ("poet", 3, 5),
        ("poet", 3, 7),
    ]


def test_a_label_may_be_the_cursor(read: Callable[..., Keyset]) -> None:
    query = select(Author.id, (-Author.rating).label("worst"))

    assert cursors(read(query, "worst"), (-3, 5)) == [(-3, 7), (-2, 4), (-1, 2), (-1, 6)]


@pytest.mark.parametrize("done", range(6))
def test_a_primary_key_of_several_columns_is_resumed_anywhere(
    done: int, read: Callable[..., Keyset]
) -> None:
    keyset = read(select(Stay), ("hotel", "night"))

    assert cursors(keyset, [None, *STAYS][done]) == STAYS[done:]


def test_a_part_of_the_primary_key_is_completed_by_the_rest(read: Callable[..., Keyset]) -> None:
    assert cursors(read(select(Stay), "night"), (1, "Blick")) == [
        (2, "Astor"),
        (2, "Blick"),
        (9, "Astor"),
    ]


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        ("id", [UUID(int=0), UUID(int=1), UUID(int=2), UUID(int=3)]),
        ("code", [("", UUID(int=2)), ("a", UUID(int=1)), ("b", UUID(int=0)), ("c", UUID(int=3))]),
        ("sent_at", [(moment, UUID(int=place)) for place, moment in enumerate(MOMENTS)]),
    ],
    ids=["uuid", "text", "moment"],
)
@pytest.mark.parametrize("done", range(1, 5))
def test_a_cursor_of_any_type_finds_its_place_after_it_was_stored(
    cursor: str, expected: list[Any], done: int, read: Callable[..., Keyset]
) -> None:
    saved = load(dump(cursors(read(select(Parcel), cursor))[done - 1]))

    assert cursors(read(select(Parcel), cursor), saved) == expected[done:]


def test_rows_deleted_by_the_body_do_not_shift_the_rest(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    walk = pairs(read(select(Author.id)), None, 2)
    seen = [next(walk)[1], next(walk)[1]]

    execute(library, delete(Book))
    execute(library, delete(Author).where(Author.id <= 3))

    assert seen + [cursor for _, cursor in walk] == [1, 2, 4, 5, 6, 7]


def test_rows_whose_condition_is_changed_by_the_body_do_not_shift_the_rest(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    walk = pairs(read(select(Author).where(Author.rating == 3)), None, 2)
    seen = [next(walk)[1], next(walk)[1]]

    execute(library, update(Author).where(Author.id.in_(seen)).values(rating=0))

    assert seen + [cursor for _, cursor in walk] == [1, 3, 5, 7]


def test_the_cursor_is_what_was_read_and_not_what_the_body_made_of_it(
    read: Callable[..., Keyset],
) -> None:
    walk = pairs(read(select(Author), "rating"), None, 2)

    (first, _), (second, cursor) = next(walk), next(walk)
    first.rating = second.rating = 99

    assert cursor == (1, 6)
    assert [cursor for _, cursor in walk] == BY_RATING[2:]


@pytest.mark.parametrize("option", [joinedload, selectinload], ids=["joined", "selectin"])
def test_relationships_that_are_loaded_along_are_there_afterwards(
    option: Any, read: Callable[..., Keyset]
) -> None:
    walk = pairs(read(select(Author).options(option(Author.books))), None, 2)

    assert [(author.id, [book.id for book in author.books]) for author, _ in walk] == [
        (1, [11, 12]),
        (2, [21, 22]),
        (3, []),
        (4, []),
        (5, [51, 52]),
        (6, []),
        (7, []),
    ]


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_an_entity_that_a_join_repeats_is_given_once(
    chunk: int, read: Callable[..., Keyset]
) -> None:
    assert ids(read(select(Author).join(Author.books)), None, chunk) == [1, 2, 5]
    assert ids(read(select(Author).join(Author.books).distinct()), None, chunk) == [1, 2, 5]


@pytest.mark.parametrize("done", range(7))
def test_rows_of_a_join_are_told_apart_by_the_keys_of_all_tables(
    done: int, read: Callable[..., Keyset]
) -> None:
    query = select(Author.id.label("author"), Book.id.label("book")).join(Author.books)
    whole = [(1, 11), (1, 12), (2, 21), (2, 22), (5, 51), (5, 52)]

    assert cursors(read(query, "author"), [None, *whole][done]) == whole[done:]


def test_an_alias_is_read_like_its_entity(read: Callable[..., Keyset]) -> None:
    writer = aliased(Author)

    assert cursors(read(select(writer).where(writer.rating < 3), writer.rating)) == BY_RATING[:3]


def test_a_subclass_is_read_without_its_siblings(read: Callable[..., Keyset]) -> None:
    assert ids(read(select(Poet))) == [1, 3, 5, 7]


def test_entities_stay_in_a_session_that_is_the_steps_own(library: gd.Drive) -> None:
    with Session(library.engine) as session:
        keyset = Keyset(select(Author), open_session=lambda: nullcontext(session), detach=False)
        walk = pairs(keyset, None, 2)
        author, _ = next(walk)
        author.name = "Changed"
        list(walk)
        session.commit()

    with Session(library.engine) as session:
        assert session.get_one(Author, 1).name == "Changed"


def test_each_chunk_is_one_statement(library: gd.Drive, read: Callable[..., Keyset]) -> None:
    statements: list[str] = []
    event.listen(
        library.engine, "before_cursor_execute", lambda *event: statements.append(event[2])
    )

    assert ids(read(select(Author.id)), None, 3) == [1, 2, 3, 4, 5, 6, 7]

    assert len(statements) == 4
    assert len(set(statements)) == 2


def test_nulls_in_the_cursor_column_are_refused(read: Callable[..., Keyset]) -> None:
    keyset = read(select(Author), "born_on")

    with pytest.raises(NullCursor) as refusal:
        keyset.read(None, 2)

    assert refusal.value.column == "keyset_authors.born_on"
    assert str(refusal.value) == (
        "The cursor column keyset_authors.born_on has rows with NULL, which the loop would miss. "
        "Exclude them with where(keyset_authors.born_on IS NOT NULL), or choose another column "
        "with cursor=."
    )


def test_nulls_are_refused_where_a_loop_resumes_as_well(read: Callable[..., Keyset]) -> None:
    with pytest.raises(NullCursor):
        read(select(Author), "born_on").read((date(2000, 1, 1), 1), 2)


def test_nulls_that_the_query_leaves_out_do_no_harm(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    execute(library, update(Author).where(Author.id == 3).values(born_on=date(1990, 5, 1)))
    keyset = read(select(Author).where(Author.born_on.is_not(None)), "born_on")

    assert cursors(keyset) == [(date(1990, 5, 1), 3)]


def test_keys_that_an_outer_join_leaves_null_are_refused(read: Callable[..., Keyset]) -> None:
    query = select(Author.id.label("author"), Book.id.label("book")).outerjoin(Author.books)

    with pytest.raises(NullCursor, match=r"The cursor column keyset_books\.id has rows with NULL"):
        read(query, "author").read(None, 2)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        (
            select(Author).order_by(Author.name),
            "ORDER BY, but a resumable loop reads in the order of its cursor. Remove it, and name "
            "the order you want as cursor=.",
        ),
        (
            select(Author).limit(0),
            "LIMIT, but a resumable loop reads in the order of its cursor. Narrow it with where(), "
            "or leave the loop with break.",
        ),
        (
            select(Author).offset(1),
            "OFFSET, but a resumable loop reads in the order of its cursor. Narrow it with "
            "where(), or leave the loop with break.",
        ),
        (
            select(Author).fetch(1),
            "FETCH, but a resumable loop reads in the order of its cursor. Narrow it with "
            "where(), or leave the loop with break.",
        ),
        (
            select(Author.rating, func.count()).group_by(Author.rating),
            "GROUP BY, but a resumable loop reads in the order of its cursor. A group has no "
            "position in that order. Loop over the table that has one row for each group, and "
            "aggregate in the body.",
        ),
        (
            select(func.count()).select_from(Author).having(func.count() > 1),
            "HAVING, but a resumable loop reads in the order of its cursor. A group has no "
            "position in that order. Loop over the table that has one row for each group, and "
            "aggregate in the body.",
        ),
    ],
    ids=["order", "limit", "offset", "fetch", "group", "having"],
)
def test_a_select_with_an_order_or_extent_of_its_own_is_refused(
    query: Select[Any], part: str, read: Callable[..., Keyset]
) -> None:
    assert refusal_of(lambda: read(query)) == f"The select has {part}"


@pytest.mark.filterwarnings("ignore:Passing expression to:DeprecationWarning")
def test_distinct_on_is_refused(read: Callable[..., Keyset]) -> None:
    assert refusal_of(lambda: read(select(Author).distinct(Author.rating))) == (
        "The select has DISTINCT ON, but a resumable loop reads in the order of its cursor. The "
        "row that it keeps would depend on where the loop resumes. Choose a row with where()."
    )


@pytest.mark.skipif(not hasattr(Select, "ext"), reason="It came with SQLAlchemy 2.1.")
def test_distinct_on_as_an_extension_is_refused(read: Callable[..., Keyset]) -> None:
    query = select(Author).ext(postgresql.distinct_on(Author.rating))

    assert refusal_of(lambda: read(query)).startswith("The select has DISTINCT ON, ")


def test_a_select_without_a_table_is_refused(read: Callable[..., Keyset]) -> None:
    assert refusal_of(lambda: read(select(func.now()))) == (
        "The select reads from no table. Select an entity or columns of a table."
    )


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (union_all(select(Author.id), select(Book.id)), "CompoundSelect"),
        (text("SELECT 1"), "TextClause"),
        ([1, 2], "list"),
    ],
    ids=["union", "text", "list"],
)
def test_what_is_not_a_select_is_refused(
    query: Any, kind: str, read: Callable[..., Keyset]
) -> None:
    assert refusal_of(lambda: read(query)) == (
        f"A loop over records needs a SQLAlchemy select() or a Django QuerySet, not a value of "
        f"type {kind}."
    )


def test_a_mapped_class_in_place_of_its_select_is_refused(read: Callable[..., Keyset]) -> None:
    assert refusal_of(lambda: read(Author)) == (
        "A loop over records needs a SQLAlchemy select() or a Django QuerySet, not the class "
        "Author. Write select(Author)."
    )


@pytest.mark.parametrize(
    ("query", "name"),
    [(select(Author), "Author"), (select(AUTHORS), "keyset_authors")],
    ids=["entity", "table"],
)
@pytest.mark.parametrize(
    ("cursor", "shown"),
    [("born", "born"), (Book.id, "Book.id"), (Book.__table__.c.id, "keyset_books.id")],
    ids=["name", "attribute", "column"],
)
def test_an_unknown_cursor_column_is_refused(
    query: Any, name: str, cursor: Any, shown: str, read: Callable[..., Keyset]
) -> None:
    assert refusal_of(lambda: read(query, cursor)) == (
        f"{name} has no column {shown!r} to use as the cursor. Pass one of its columns as cursor=; "
        f"its primary key is keyset_authors.id."
    )


def test_a_name_that_several_tables_have_is_refused_as_the_cursor(
    read: Callable[..., Keyset],
) -> None:
    query = select(Author.name, Book.author_id).join(Author.books)

    assert refusal_of(lambda: read(query)) == (
        "The cursor 'id' may be keyset_authors.id or keyset_books.id. Pass the column itself as "
        "cursor=."
    )


def test_a_table_without_a_primary_key_is_refused(read: Callable[..., Keyset]) -> None:
    assert refusal_of(lambda: read(select(KEYLESS))) == (
        "keyset_notes has no primary key, so equal rows could not be distinguished. Add a primary "
        "key to the table, or select from a table that has one."
    )


@pytest.mark.parametrize(
    ("query", "cursor", "missing"),
    [
        (select(Author.name), "id", "keyset_authors.id"),
        (select(Author.name), "rating", "keyset_authors.rating, keyset_authors.id"),
        (select(Author, Book.id).join(Author.books), Book.id, "keyset_authors.id"),
    ],
    ids=["key", "cursor and key", "entity and column"],
)
def test_key_columns_that_are_not_selected_are_asked_for(
    query: Any, cursor: Any, missing: str, read: Callable[..., Keyset]
) -> None:
    assert refusal_of(lambda: read(query, cursor)) == (
        f"The select does not return {missing}, which the loop needs to resume. Add it to the "
        f"selected columns."
    )


@pytest.mark.parametrize(
    ("cursor", "saved", "columns"),
    [
        ("id", (1, 2), "keyset_authors.id"),
        ("rating", 1, "keyset_authors.rating, keyset_authors.id"),
        ("rating", (1,), "keyset_authors.rating, keyset_authors.id"),
        ("rating", (1, 2, 3), "keyset_authors.rating, keyset_authors.id"),
        ("rating", (1, None), "keyset_authors.rating, keyset_authors.id"),
        ("id", "id=9", "keyset_authors.id"),
        ("id", True, "keyset_authors.id"),
        ("id", date(2024, 1, 10), "keyset_authors.id"),
        ("name", (date(2024, 1, 10), 5), "keyset_authors.name, keyset_authors.id"),
        ("name", (5, 5), "keyset_authors.name, keyset_authors.id"),
    ],
    ids=[
        "many for one",
        "one for many",
        "too few",
        "too many",
        "nothing in it",
        "text for a number",
        "truth for a number",
        "date for a number",
        "date for a text",
        "number for a text",
    ],
)
def test_a_cursor_of_another_shape_is_refused(
    cursor: str, saved: Any, columns: str, read: Callable[..., Keyset]
) -> None:
    assert refusal_of(lambda: read(select(Author), cursor).read(saved, 2)) == (
        f"The saved cursor {saved!r} does not fit this loop, whose cursor is made of {columns}. It "
        f"was saved by another loop. Rewind the step with `geneva rewind`, or restore that loop."
    )


@pytest.mark.parametrize(
    "query",
    [
        select(Author),
        select(Author).options(joinedload(Author.books)),
        select(AUTHORS),
        select(Author.name, Author.id, Author.rating),
    ],
    ids=["entity", "eager", "table", "columns"],
)
def test_batches_follow_each_other_by_their_last_key(
    query: Any, read: Callable[..., Keyset]
) -> None:
    keyset = read(query, Author.rating)

    walked = [(batch.ids, len(batch), cursor) for batch, cursor in batch_pairs(keyset, None, 3)]

    assert walked == [([2, 6, 4], 3, (2, 4)), ([1, 3, 5], 3, (3, 5)), ([7], 1, (3, 7))]


def test_batches_are_resumed_after_a_saved_key(read: Callable[..., Keyset]) -> None:
    keyset = read(select(Author), "rating")

    assert [batch.ids for batch, _ in batch_pairs(keyset, (2, 4), 3)] == [[1, 3, 5], [7]]


def test_a_batch_updates_its_rows_in_a_transaction_of_its_own(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    batch, _ = next(batch_pairs(read(select(Author)), None, 3))

    assert batch.update(rating=9) == 3

    assert ids(read(select(Author).where(Author.rating == 9))) == [1, 2, 3]


def test_a_batch_updates_its_rows_in_a_given_session(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    batch, _ = next(batch_pairs(read(select(Author)), None, 3))

    with Session(library.engine) as session:
        assert batch.update(session, rating=9) == 3
        session.rollback()

    assert ids(read(select(Author).where(Author.rating == 9))) == []


def test_a_batch_updates_its_rows_in_the_steps_own_session(library: gd.Drive) -> None:
    with Session(library.engine) as session:
        keyset = Keyset(select(Author), open_session=lambda: nullcontext(session), detach=False)
        batch, _ = next(batch_pairs(keyset, None, 3))
        author = batch.rows[0]
        assert batch.update(rating=9) == 3
        assert author.rating == 9
        session.rollback()

    with Session(library.engine) as session:
        assert session.get_one(Author, 1).rating == 3


def test_the_rows_of_a_batch_stay_its_own_whatever_others_do(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    walk = batch_pairs(read(select(Author).where(Author.rating == 3)), None, 2)
    batch, _ = next(walk)

    execute(library, update(Author).where(Author.id == 2).values(rating=3))
    assert batch.update(rating=8) == 2

    assert ids(read(select(Author).where(Author.rating == 8))) == [1, 3]
    assert [following.ids for following, _ in walk] == [[5, 7]]


def test_the_condition_of_a_batch_fits_the_users_own_statements(
    library: gd.Drive, read: Callable[..., Keyset]
) -> None:
    writer = aliased(Author)
    batch, _ = next(batch_pairs(read(select(writer).where(writer.id > 2)), None, 2))

    execute(library, update(AUTHORS).where(batch.where).values(rating=9))

    assert ids(read(select(Author).where(batch.where, Author.rating == 9))) == [3, 4]


def test_the_rows_of_a_batch_are_read_in_order_when_they_are_asked_for(
    read: Callable[..., Keyset],
) -> None:
    keyset = read(select(Author).options(joinedload(Author.books)), "rating")
    batch, _ = next(batch_pairs(keyset, None, 4))

    assert [(author.id, len(author.books)) for author in batch.rows] == [
        (2, 2),
        (6, 0),
        (4, 0),
        (1, 2),
    ]
    assert all(inspect(author).detached for author in batch.rows)


def test_a_batch_of_rows_gives_rows(read: Callable[..., Keyset]) -> None:
    batch, _ = next(batch_pairs(read(select(Author.name, Author.id)), None, 2))

    assert batch.rows == [("Author 1", 1), ("Author 2", 2)]


def test_a_batch_of_a_key_of_several_columns_names_its_rows_by_tuples(
    read: Callable[..., Keyset],
) -> None:
    keyset = read(select(Stay), ["night", "hotel"])
    batch, cursor = next(batch_pairs(keyset, None, 3))

    assert batch.update(price=70) == 3

    assert batch.ids == [("Astor", 1), ("Blick", 1), ("Astor", 2)]
    assert cursor == (2, "Astor")
    assert [stay.price for stay in batch.rows] == [70, 70, 70]
    assert cursors(read(select(Stay).where(Stay.price == 50), "hotel")) == [
        ("Astor", 9),
        ("Blick", 2),
    ]


def test_a_batch_names_an_entity_that_a_join_repeats_once(read: Callable[..., Keyset]) -> None:
    walk = batch_pairs(read(select(Author).join(Author.books)), None, 3)

    assert [batch.ids for batch, _ in walk] == [[1, 2], [5]]


def test_a_batch_of_a_subclass_leaves_its_siblings_out(read: Callable[..., Keyset]) -> None:
    assert [batch.ids for batch, _ in batch_pairs(read(select(Poet)), None, 3)] == [[1, 3, 5], [7]]


def test_a_batch_of_rows_from_several_tables_is_refused(read: Callable[..., Keyset]) -> None:
    query = select(Author.id.label("author"), Book.id.label("book")).join(Author.books)

    assert refusal_of(lambda: read(query, "author").read_batch(None, 2)) == (
        "A batch is a group of one table's rows, but the select takes rows from several tables. "
        "Select one entity, or the columns of one table, and join in where()."
    )
