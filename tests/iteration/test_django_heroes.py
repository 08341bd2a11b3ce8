"""Django's records as the heroes of workflows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import perform_next_step, speedrun
from tests.iteration.library import Author, Book, Stay, connections, django, end_connection, models
from tests.iteration.test_queryset_routing import ReadingFromTheReplica
from tests.looking import error_of, history, last

pytestmark = pytest.mark.usefixtures("library")

ON_SQLITE = pytest.mark.databases("sqlite")


class Greeting(gd.Workflow[Any]):
    type_name = "test_django_heroes.Greeting"

    @gd.step(keep_result=True)
    def greet(self) -> str:
        return str(self.hero.name)


@pytest.fixture
def beside_django(library: None) -> Iterator[gd.Drive]:
    """A Drive in the database that Django uses."""
    drive = gd.configure(f"sqlite:///{connections.settings['default']['NAME']}")
    drive.migrate()
    yield drive
    drive.close()


@ON_SQLITE
def test_a_record_of_django_is_a_hero_in_the_same_database(beside_django: gd.Drive) -> None:
    author = Author.objects.get(id=1)

    workflow = speedrun(Greeting.create(hero=author))

    assert (workflow.hero_type, workflow.hero_id) == ("Author", "1")
    assert workflow.result == "Author 8"
    assert workflow.hero == author
    assert Greeting.for_hero(author).ids() == [workflow.id]


def test_the_record_is_as_it_is_when_the_step_runs(geneva: gd.Drive) -> None:
    workflow = Greeting.create(hero=Author.objects.get(id=1))
    Author.objects.filter(id=1).update(name="Ada")

    assert speedrun(workflow).result == "Ada"


def test_a_deleted_record_cancels_the_workflow(geneva: gd.Drive) -> None:
    workflow = Greeting.create(hero=Author.objects.get(id=4))
    Author.objects.filter(id=4).delete()

    perform_next_step(workflow)

    assert history(workflow) == [("greet", "canceled", "canceled_by_condition")]
    assert workflow.reload().hero is None


@ON_SQLITE
@pytest.mark.skipif(django.VERSION < (5, 2), reason="Keys of several fields came with Django 5.2.")
def test_a_record_with_a_key_of_several_fields_is_found_again(geneva: gd.Drive) -> None:
    stay = Stay.objects.create(hotel="Ritz", night=3, price=90)

    workflow = Greeting.create(hero=stay)

    assert workflow.hero_id == '["Ritz",3]'
    assert workflow.hero == stay


@ON_SQLITE
def test_the_declared_model_of_the_class_is_the_hero(geneva: gd.Drive) -> None:
    class Reading(gd.Workflow[Book]):
        @gd.step(keep_result=True)
        def read(self) -> str:
            return str(self.hero.author.name)

    assert speedrun(Reading.create(hero=gd.HeroRef("Book", "1-1"))).result == "Author 8"


@ON_SQLITE
def test_a_record_that_is_not_saved_is_refused(geneva: gd.Drive) -> None:
    with pytest.raises(InvalidInput) as caught:
        Greeting.create(hero=Author(id=77, name="Ada"))

    assert str(caught.value) == (
        "The hero Author is not saved yet. Save it, and create the workflow once that is "
        "committed, as in transaction.on_commit(lambda: ...)."
    )


@ON_SQLITE
def test_a_model_class_is_no_hero(geneva: gd.Drive) -> None:
    with pytest.raises(InvalidInput) as caught:
        Greeting.create(hero=Author)

    assert str(caught.value) == (
        "A hero is a SQLAlchemy-mapped object, a Django model instance or a gd.HeroRef, not "
        "<class 'tests.iteration.library.Author'>."
    )


@ON_SQLITE
def test_a_hero_is_never_read_from_a_replica(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(django.db.router, "routers", [ReadingFromTheReplica()])

    # There is no database "replica" here: a query that went there would fail.
    assert Greeting.create(hero=gd.HeroRef("Author", 1)).hero.name == "Author 8"


@pytest.mark.databases("postgresql")
def test_a_lost_connection_of_django_is_opened_again(geneva: gd.Drive, database: str) -> None:
    workflow = Greeting.create(hero=gd.HeroRef("Author", 1))
    end_connection(database)
    connections["default"].errors_occurred = True  # as after the first statement that failed

    assert speedrun(workflow).result == "Author 8"


@ON_SQLITE
def test_models_of_one_name_in_two_apps_are_not_confused(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(models.Model):  # type: ignore[misc]  # Django is untyped
        class Meta:
            app_label = "another"

    found = [*django.apps.apps.get_models(), Other]
    monkeypatch.setattr(Other, "__geneva_type__", "Twin", raising=False)
    monkeypatch.setattr(Book, "__geneva_type__", "Twin", raising=False)
    monkeypatch.setattr(django.apps.apps, "get_models", lambda: found)
    workflow = speedrun(Greeting.create(hero=gd.HeroRef("Twin", 7)))

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "Several Django models are heroes of type 'Twin': tests.iteration.library.Book, "
        "tests.iteration.test_django_heroes.Other. Declare the workflow's class as "
        "gd.Workflow[Book], or set __geneva_type__ in one of the models.",
    )
