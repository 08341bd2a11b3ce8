"""The records that workflows are about: how they are named, loaded and missed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import event
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker

import geneva_drive as gd
from geneva_drive.engine.heroes.heroes import reference_to
from geneva_drive.testing import perform_next_step, speedrun
from tests.heroes import Base, Country, Invoice, OrderLine, Parcel, User, save
from tests.looking import error_of, history, last


class Greeting(gd.Workflow[Any]):
    """Keeps what it sees of its hero."""

    type_name = "test_heroes.Greeting"

    @gd.step(keep_result=True)
    def greet(self) -> str:
        hero = self.hero
        return f"{type(hero).__name__} {getattr(hero, 'name', '')}".strip()


def greeted(hero: object) -> Any:
    return speedrun(Greeting.create(hero)).step_executions[0].result


def delete(drive: gd.Drive, hero: object) -> None:
    with Session(drive.engine) as session:
        session.delete(session.merge(hero))
        session.commit()


@pytest.mark.parametrize(
    ("hero", "hero_type", "hero_id"),
    [
        (User(id=7, name="Ada"), "User", "7"),
        (Parcel(id=UUID(int=5)), "Parcel", "00000000-0000-0000-0000-000000000005"),
        (Country(code="NL"), "Country", "NL"),
        (OrderLine(order_number=3, sku="red 4"), "OrderLine", '[3,"red 4"]'),
        (Invoice(id=9), "billing.Invoice", "9"),
    ],
    ids=["int", "uuid", "text", "composite", "named"],
)
def test_a_mapped_hero_is_named_by_type_and_key_and_loaded_again(
    geneva: gd.Drive, users: None, hero: Base, hero_type: str, hero_id: str
) -> None:
    with Session(geneva.engine, expire_on_commit=False) as session:
        hero = session.merge(hero)
        session.commit()

    workflow = Greeting.create(hero=hero)

    assert (workflow.hero_type, workflow.hero_id) == (hero_type, hero_id)
    assert type(workflow.hero) is type(hero)
    assert speedrun(workflow).step_executions[0].result.split()[0] == type(hero).__name__


def test_a_hero_is_as_it_is_when_the_step_runs(geneva: gd.Drive, users: None) -> None:
    user = save(geneva, User(name="Ada"))
    workflow = Greeting.create(user)
    with Session(geneva.engine) as session:
        session.get_one(User, user.id).name = "Grace"
        session.commit()

    speedrun(workflow)

    assert workflow.step_executions[0].result == "User Grace"


def test_a_hero_is_loaded_once_per_execution(geneva: gd.Drive, users: None) -> None:
    seen: list[bool] = []

    class Twice(gd.Workflow[User]):
        @gd.cancel_if
        def nameless(self) -> bool:
            return not self.hero.name

        @gd.step
        def look(self) -> None:
            seen.append(self.hero is self.hero)

        @gd.step
        def look_again(self) -> None:
            seen.append(self.hero is self.hero)

    user = save(geneva, User(name="Ada"))
    with loads(geneva) as count:
        speedrun(Twice.create(user))

    assert seen == [True, True]
    assert count == ["test_users", "test_users"]


class loads:  # noqa: N801 - reads as a verb in a with statement
    """Count the selects on the table of users."""

    def __init__(self, drive: gd.Drive) -> None:
        self._engine = drive.engine
        self._seen: list[str] = []

    def _note(self, _c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "FROM test_users" in statement:
            self._seen.append("test_users")

    def __enter__(self) -> list[str]:
        event.listen(self._engine, "before_cursor_execute", self._note)
        return self._seen

    def __exit__(self, *_: object) -> None:
        event.remove(self._engine, "before_cursor_execute", self._note)


def test_a_hero_is_detached_from_any_session(geneva: gd.Drive, users: None) -> None:
    sessions: list[Session | None] = []

    class Look(gd.Workflow[User]):
        @gd.step
        def look(self) -> None:
            sessions.append(Session.object_session(self.hero))

    speedrun(Look.create(save(geneva, User(name="Ada"))))

    assert sessions == [None]


def test_heroes_are_loaded_with_the_session_factory_if_there_is_one(
    geneva: gd.Drive, users: None, geneva_database_url: str
) -> None:
    opened: list[str] = []

    class Noted(Session):
        def __enter__(self) -> Noted:
            opened.append("session")
            return self

    drive = gd.Drive(geneva.engine, session_factory=sessionmaker(geneva.engine, class_=Noted))
    user = save(geneva, User(name="Ada"))

    workflow = speedrun(Greeting.using(drive).create(user))

    assert workflow.step_executions[0].result == "User Ada"
    assert opened == ["session"]


def test_a_hero_that_was_committed_and_left_by_its_session_still_has_its_name(
    geneva: gd.Drive, users: None
) -> None:
    with Session(geneva.engine) as session:
        user = User(id=4, name="Ada")
        session.add(user)
        session.commit()

    assert Greeting.create(user).hero_id == "4"


def test_naming_a_committed_hero_opens_no_transaction_in_its_session(
    geneva: gd.Drive, users: None
) -> None:
    with Session(geneva.engine) as session:
        user = User(name="Ada")
        session.add(user)
        session.commit()

        Greeting.create(user)

        assert not session.in_transaction()


def test_a_hero_reference_of_an_unknown_type_is_given_as_it_is(geneva: gd.Drive) -> None:
    reference = gd.HeroRef("Spaceship", "NCC-1701")
    workflow = Greeting.create(reference)

    assert workflow.hero == reference
    assert speedrun(workflow).state == "finished"
    assert workflow.step_executions[0].result == "HeroRef"


def test_a_hero_reference_to_a_mapped_class_loads_the_record(geneva: gd.Drive, users: None) -> None:
    user = save(geneva, User(name="Ada"))

    assert greeted(gd.HeroRef("User", str(user.id))) == "User Ada"


def test_a_registered_type_is_loaded_by_its_loader(geneva: gd.Drive) -> None:
    gd.register_hero("Robot", {"r2": "R2-D2"}.get)

    class Beep(gd.Workflow):
        @gd.step(keep_result=True)
        def beep(self) -> Any:
            return self.hero

    workflow = speedrun(Beep.create(gd.HeroRef("Robot", "r2")))

    assert workflow.step_executions[0].result == "R2-D2"
    assert workflow.hero == "R2-D2"


def test_a_loader_that_finds_nothing_means_a_deleted_hero(geneva: gd.Drive) -> None:
    gd.register_hero("Robot", lambda hero_id: None)

    workflow = speedrun(Greeting.create(gd.HeroRef("Robot", "c3")))

    assert history(workflow) == [("greet", "canceled", "canceled_by_condition")]
    assert workflow.step_executions[0].error_class == "geneva_drive.errors.HeroGone"


def test_a_deleted_hero_cancels_the_workflow_though_no_step_looks_at_it(
    geneva: gd.Drive, users: None
) -> None:
    class Blind(gd.Workflow):
        @gd.step
        def work(self) -> None:
            pytest.fail("the body ran")

    user = save(geneva, User(name="Ada"))
    workflow = Blind.create(user)
    delete(geneva, user)

    speedrun(workflow)

    assert workflow.state == "canceled"
    assert history(workflow) == [("work", "canceled", "canceled_by_condition")]
    assert workflow.hero is None


def test_a_class_may_proceed_without_its_hero(geneva: gd.Drive, users: None) -> None:
    class Farewell(gd.Workflow[User]):
        may_proceed_without_hero = True

        @gd.step(keep_result=True)
        def say_goodbye(self) -> list[Any]:
            return [self.hero, self.hero_id]

    user = save(geneva, User(id=4, name="Ada"))
    workflow = Farewell.create(user)
    delete(geneva, user)

    speedrun(workflow)

    assert workflow.state == "finished"
    assert workflow.step_executions[0].result == [None, "4"]


def test_a_workflow_without_a_hero_has_none(geneva: gd.Drive) -> None:
    workflow = Greeting.create()

    assert (workflow.hero, workflow.hero_type, workflow.hero_id) == (None, None, None)
    assert speedrun(workflow).step_executions[0].result == "NoneType"


def test_a_hero_that_cannot_be_loaded_is_a_failure_of_the_step(geneva: gd.Drive) -> None:
    def load(hero_id: str) -> object:
        raise ConnectionError("the registry of robots is away")

    gd.register_hero("Robot", load)
    workflow = speedrun(Greeting.create(gd.HeroRef("Robot", "r2")))

    assert history(workflow) == [("greet", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == (
        "builtins.ConnectionError",
        "the registry of robots is away",
    )


@pytest.fixture(autouse=True)
def _heroes_as_before() -> Iterator[None]:
    """A process remembers loaders and classes by name: let none of a test's own stay."""
    yield
    gd.register_hero("Robot", lambda hero_id: None)
    reference_to(User(id=1))


def test_the_class_in_brackets_is_loaded_even_where_two_have_its_name(
    geneva: gd.Drive, users: None
) -> None:
    class OtherBase(DeclarativeBase): ...

    class OtherUser(OtherBase):
        __tablename__ = "other_users"
        __geneva_type__ = "User"
        id: Mapped[int] = mapped_column(primary_key=True)

    class Look(gd.Workflow[User]):
        @gd.step(keep_result=True)
        def look(self) -> str:
            return type(self.hero).__name__

    user = save(geneva, User(name="Ada"))
    assert OtherUser.__tablename__ == "other_users"

    assert speedrun(Look.create(user)).step_executions[0].result == "User"


def test_the_class_that_was_used_last_is_loaded_where_two_have_the_same_name(
    geneva: gd.Drive, users: None
) -> None:
    class OtherBase(DeclarativeBase): ...

    class Pilot(OtherBase):
        __tablename__ = "test_users"
        __geneva_type__ = "User"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]

    user = save(geneva, User(name="Ada"))
    Greeting.create(user)
    with Session(geneva.engine) as session:
        pilot = session.get_one(Pilot, user.id)
        workflow = Greeting.create(pilot, allow_multiple=True)

    perform_next_step(workflow)

    assert workflow.step_executions[0].result == "Pilot Ada"


@pytest.mark.parametrize(
    ("hero", "message"),
    [
        (
            User(name="Ada"),
            "The hero User has no key yet. Add it to its session and pass that to "
            "create(session=...), or commit it first.",
        ),
        (
            "Ada",
            "A hero is a SQLAlchemy-mapped object, a Django model instance or a gd.HeroRef, not "
            "'Ada'.",
        ),
        (
            User,
            "A hero is a SQLAlchemy-mapped object, a Django model instance or a gd.HeroRef, not "
            "<class 'tests.heroes.User'>.",
        ),
        (
            gd.HeroRef("Robot", "x" * 256),
            "The id of hero type 'Robot' is 256 characters long; at most 255 can be stored.",
        ),
    ],
    ids=["without a key", "text", "a class", "too long"],
)
def test_a_hero_that_cannot_be_named_is_refused(
    geneva: gd.Drive, hero: object, message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Greeting.create(hero)

    assert str(refusal.value) == message
    assert gd.Workflow.ongoing().count() == 0
