"""What a step changes on its hero is saved with the step, or the log says that it is not."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship, sessionmaker

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, expire_leases, perform_next_step, speedrun
from tests.heroes import Base, save
from tests.looking import history, last


class Order(Base):
    __tablename__ = "test_session_orders"
    __geneva_type__ = "SessionOrder"  # other modules have heroes of the type Order, without a class

    id: Mapped[int] = mapped_column(primary_key=True)
    status: Mapped[str] = mapped_column(String(20), default="new")
    lines: Mapped[list[Line]] = relationship()


class Line(Base):
    __tablename__ = "test_session_lines"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[int] = mapped_column(ForeignKey("test_session_orders.id"))


def status_of(drive: gd.Drive) -> str | None:
    with Session(drive.engine) as session:
        return session.scalar(select(Order.status))


def test_a_change_to_the_hero_commits_with_its_step(geneva: gd.Drive, users: None) -> None:
    class Charge(gd.Workflow[Order]):
        @gd.cancel_if
        def is_gone(self) -> bool:
            return self.hero.status == "gone"

        @gd.step(transaction=True)
        def charge(self, session: Session) -> None:
            assert self.hero in session
            assert self.hero.lines == []
            self.hero.status = "charged"

    speedrun(Charge.create(save(geneva, Order())))

    assert status_of(geneva) == "charged"


def test_a_change_to_the_hero_is_rolled_back_with_its_step(geneva: gd.Drive, users: None) -> None:
    class Charge(gd.Workflow[Order]):
        @gd.step(transaction=True)
        def charge(self, session: Session) -> None:
            self.hero.status = "charged"
            raise ValueError("no")

    workflow = Charge.create(save(geneva, Order()))
    perform_next_step(workflow)

    assert status_of(geneva) == "new"
    assert history(workflow) == [("charge", "failed", "paused_by_exception")]


def test_a_hook_reads_the_stored_hero_after_a_rollback(geneva: gd.Drive, users: None) -> None:
    seen: list[str] = []

    class Charge(gd.Workflow[Order]):
        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            seen.append(self.hero.status)

        @gd.step(transaction=True, on_exception="skip")
        def charge(self, session: Session) -> None:
            self.hero.status = "charged"
            raise ValueError("no")

        @gd.resumable_step(transaction=True)
        def pack(self, it: gd.IterableStep, session: Session) -> None:
            for _ in it.iterate_over("a"):
                self.hero.status = "packed"
                raise ValueError("no")

    workflow = Charge.create(save(geneva, Order()))
    drain(geneva)

    assert seen == ["new", "new"]
    assert last(workflow).error_message == "no"


def test_each_item_of_a_loop_saves_the_hero_with_its_cursor(geneva: gd.Drive, users: None) -> None:
    class Pack(gd.Workflow[Order]):
        @gd.resumable_step(transaction=True)
        def pack(self, it: gd.IterableStep, session: Session) -> None:
            for letter in it.iterate_over("abc"):
                self.hero.status += letter

    workflow = Pack.create(save(geneva, Order()))
    with crash_after(items=2):
        drain(geneva)
    halfway = status_of(geneva)
    expire_leases(geneva)
    drain(geneva)

    assert halfway == "newa"
    assert status_of(geneva) == "newabc"
    assert workflow.reload().state == "finished"


def test_a_change_to_a_detached_hero_is_logged(
    geneva: gd.Drive, users: None, caplog: pytest.LogCaptureFixture
) -> None:
    class Charge(gd.Workflow[Order]):
        @gd.step
        def charge(self) -> None:
            self.hero.status = "charged"

    workflow = speedrun(Charge.create(save(geneva, Order())))

    assert status_of(geneva) == "new"
    assert [m for m in caplog.messages if "hero" in m] == [
        f"Step 'charge' of workflow {workflow.id} changed status of its hero, which is detached, "
        f"so nothing saves the change. Declare the step with transaction=True: there the hero "
        f"belongs to the step's session. To save it in a session of your own, change what "
        f"session.merge() returns."
    ]


def test_a_hero_that_is_saved_in_the_bodys_own_session_is_not_logged(
    geneva: gd.Drive, users: None, caplog: pytest.LogCaptureFixture
) -> None:
    class Charge(gd.Workflow[Order]):
        @gd.step
        def charge(self) -> None:
            with Session(geneva.engine) as session:
                session.add(self.hero)
                self.hero.status = "charged"
                session.commit()

    speedrun(Charge.create(save(geneva, Order())))

    assert status_of(geneva) == "charged"
    assert not [m for m in caplog.messages if "hero" in m]


def test_an_attribute_that_a_detached_hero_cannot_load_names_the_way_out(
    geneva: gd.Drive, users: None
) -> None:
    class Charge(gd.Workflow[Order]):
        @gd.step
        def charge(self) -> None:
            _ = self.hero.lines

    workflow = Charge.create(save(geneva, Order()))
    perform_next_step(workflow)

    assert (
        "'lines' cannot proceed. self.hero is detached in this step. Declare the step with "
        "transaction=True: there the hero belongs to the step's session."
    ) in str(last(workflow).error_message)


def test_heroes_of_a_session_factory_stay_detached(
    geneva: gd.Drive, users: None, geneva_database_url: str
) -> None:
    factory: Any = sessionmaker(geneva.engine)
    drive = gd.Drive(geneva_database_url, session_factory=factory)

    class Charge(gd.Workflow[Order]):
        @gd.step(transaction=True, keep_result=True)
        def charge(self, session: Session) -> bool:
            return self.hero in session

    workflow = Charge.using(drive).create(save(geneva, Order()))
    kept = last(speedrun(workflow)).result
    drive.close()

    assert kept is False
