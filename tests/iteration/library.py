"""A library as Django's models, in the database that a test runs on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from sqlalchemy import make_url

from geneva_drive.errors import InvalidInput
from geneva_drive.iteration.sources.querysets import QuerySetRecords
from geneva_drive.iteration.sources.records import pairs

# Imported this way the models are untyped, and the tests are skipped without Django.
django = pytest.importorskip("django")
conf = pytest.importorskip("django.conf")
if not conf.settings.configured:
    conf.settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "given by a test"}},
        INSTALLED_APPS=["tests.iteration"],
        USE_TZ=True,
    )
    # Django supports only the other MySQL driver, which needs a compiler.
    pymysql.install_as_MySQLdb()
    django.setup()
models = pytest.importorskip("django.db.models")
connections = pytest.importorskip("django.db").connections
routing = pytest.importorskip("django.db").router
atomic = pytest.importorskip("django.db.transaction").atomic
close_old_connections = pytest.importorskip("django.db").close_old_connections

ENGINES = {
    "sqlite": "django.db.backends.sqlite3",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}
# How a connection asks for its own number, and how another one ends it.
ENDING = {
    "postgresql": ("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
    "mysql": ("SELECT CONNECTION_ID()", "KILL %s"),
}


class Author(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    name = models.CharField(max_length=50)
    rating = models.IntegerField()
    born_on = models.DateField(null=True)

    class Meta:
        app_label = "iteration"
        ordering = ["name"]  # noqa: RUF012 - as Django's models are written


class Book(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    isbn = models.CharField(max_length=20, primary_key=True)

    class Meta:
        app_label = "iteration"


class Stay(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    hotel = models.CharField(max_length=20)
    night = models.IntegerField()
    price = models.IntegerField()
    # Django has keys of several fields since 5.2; before, this model has one of its own.
    if django.VERSION >= (5, 2):
        pk = models.CompositePrimaryKey("hotel", "night")

    class Meta:
        app_label = "iteration"


class Parcel(models.Model):  # type: ignore[misc, name-defined]  # Django is untyped
    id = models.UUIDField(primary_key=True)
    code = models.CharField(max_length=20)
    weight = models.DecimalField(max_digits=12, decimal_places=4)
    length = models.FloatField()
    sent_at = models.DateTimeField()
    sent_on = models.DateField()
    opens_at = models.TimeField()
    took = models.DurationField()
    number = models.BigIntegerField()
    is_fragile = models.BooleanField()
    sender = models.GenericIPAddressField()
    seal = models.BinaryField()

    class Meta:
        app_label = "iteration"


RATINGS = {1: 3, 2: 1, 3: 3, 4: 2, 5: 3, 6: 1, 7: 3}
BY_RATING = [(1, 2), (1, 6), (2, 4), (3, 1), (3, 3), (3, 5), (3, 7)]


@contextmanager
def opened(database: str, address: str) -> Iterator[None]:
    """Point Django at this database, and create the tables of the library there."""
    url = make_url(address)
    connections.settings["default"] |= {
        "ENGINE": ENGINES[database],
        "NAME": url.database,
        "USER": url.username or "",
        "PASSWORD": url.password or "",
        "HOST": url.host or "",
        "PORT": url.port or "",
        "OPTIONS": dict(url.query),
    }
    connection = connections["default"] = connections.create_connection("default")
    with connection.schema_editor() as editor:
        for model in (Author, Book, Stay, Parcel):
            editor.create_model(model)
    yield
    connection.close()


def fill() -> None:
    for model in (Parcel, Stay, Book, Author):
        model.objects.all().delete()
    Author.objects.bulk_create(
        Author(id=key, name=f"Author {9 - key}", rating=rating) for key, rating in RATINGS.items()
    )
    Book.objects.bulk_create(
        Book(isbn=f"{key}-{n}", author_id=key) for key in (1, 2, 5) for n in (1, 2)
    )


def end_connection(database: str) -> None:
    """Make the server end Django's connection, as a restart would."""
    own_number, end = ENDING[database]
    with connections["default"].cursor() as cursor:
        cursor.execute(own_number)
        [number] = cursor.fetchone()
    another = connections.create_connection("default")
    with another.cursor() as cursor:
        cursor.execute(end, [number])
    another.close()


def ids(queryset: Any, after: Any = None, chunk: int = 2) -> list[Any]:
    return [item.pk for item, _ in pairs(QuerySetRecords(queryset), after, chunk)]


def cursors(queryset: Any, cursor: Any, after: Any = None, chunk: int = 2) -> list[Any]:
    return [cursor for _, cursor in pairs(QuerySetRecords(queryset, cursor), after, chunk)]


def refusal_of(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as refusal:
        act()
    return str(refusal.value)
