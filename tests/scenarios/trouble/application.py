"""A load of every kind of step, for workers whose database gets into trouble.

Each body notes outside of the database when it began and when it ended. Between the two it calls
the library, so that the trouble finds it there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import String, select
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import geneva_drive as gd
from tests.scenarios.trouble.batch import ITEMS, NAME, STEPS
from tests.scenarios.trouble.ledger import noted

# One line for each thing that went wrong, and none for each step.
logging.basicConfig(level=logging.WARNING)


class Base(DeclarativeBase):
    """The users' own tables, in the same database."""


class Guest(Base):
    """The hero."""

    __tablename__ = "trouble_guests"
    __geneva_type__ = "trouble.Guest"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20))


class Record(Base):
    """What a loop walks over."""

    __tablename__ = "trouble_records"

    id: Mapped[int] = mapped_column(primary_key=True)


class Effect(Base):
    """What a body leaves in its transaction; nothing is unique, so that a repetition is seen."""

    __tablename__ = "trouble_effects"

    id: Mapped[int] = mapped_column(primary_key=True)
    workflow_key: Mapped[str] = mapped_column(String(80))
    body: Mapped[str] = mapped_column(String(40))
    # Wide rows, so that a full disk refuses the body's own statements too.
    weight: Mapped[str] = mapped_column(String(1500), default="x" * 1500)


def linger() -> None:
    time.sleep(0.02)


def key_of(workflow: Any) -> str:
    return str(workflow.context["key"])


def leave_effect(session: Any, workflow: Any, body: str) -> None:
    session.add(Effect(workflow_key=key_of(workflow), body=body))
    session.flush()


def read(body: str) -> Callable[[Any], None]:
    def read_the_hero(self: Any) -> None:
        with noted(key_of(self), body):
            linger()
            assert self.hero.name == NAME
            linger()

    return read_the_hero


class Reading(gd.Workflow[Guest]):
    """Bodies that read the hero."""

    may_proceed_without_hero = True  # otherwise the hero is loaded before the body begins

    reads = [gd.step(read(f"reads_{number}")) for number in STEPS]  # noqa: RUF012 - steps


def pass_by(body: str) -> Callable[[Any], None]:
    def do_nothing_else(self: Any) -> None:
        with noted(key_of(self), body):
            linger()

    return do_nothing_else


class Conditional(gd.Workflow[Guest]):
    """Conditions that read the hero."""

    @gd.cancel_if
    def is_unnamed(self) -> bool:
        return not self.hero.name

    @gd.step(skip_if=lambda self: self.hero.name == NAME)
    def left_out(self) -> None:
        with noted(key_of(self), "left_out"):
            linger()

    kept = [  # noqa: RUF012 - steps
        gd.step(pass_by(f"kept_{number}"), skip_if="is_unnamed") for number in STEPS
    ]


def add(number: int) -> Callable[[Any], int]:
    def add_to_the_result_before(self: Any) -> int:
        with noted(key_of(self), f"sums_{number}"):
            linger()
            before: int = self.result_of(f"sums_{number - 1}") if number > 1 else 0
            assert before == number - 1
            linger()
        return number

    return add_to_the_result_before


class Calculation(gd.Workflow[Any]):
    """Results that are kept, and read by later bodies."""

    sums = [gd.step(add(number), keep_result=True) for number in STEPS]  # noqa: RUF012 - steps


class Errand(gd.Workflow[Any]):
    """A child."""

    @gd.step(keep_result=True)
    def run(self) -> str:
        with noted(key_of(self), "run"):
            linger()
            return key_of(self)


class Family(gd.Workflow[Guest]):
    """Children: created in a transaction, created in a plain body, and waited for."""

    @gd.step(transaction=True)
    def book(self, session: Any) -> None:
        with noted(key_of(self), "book"):
            linger()
            leave_effect(session, self, "book")
            assert self.hero.name == NAME
            Errand.create(context={"key": f"{key_of(self)}/booked"})
            linger()

    @gd.step
    def send(self) -> None:
        with noted(key_of(self), "send"):
            linger()
            key = f"{key_of(self)}/sent"
            Errand.create(context={"key": key}, idempotency_key=key)
            linger()

    awaited = gd.child(Errand, context=lambda self: {"key": f"{self.context['key']}/awaited"})

    @gd.step
    def close(self) -> None:
        with noted(key_of(self), "close"):
            linger()


class Counting(gd.Workflow[Any]):
    """A loop with a checkpoint after every item."""

    @gd.resumable_step
    def count(self, it: gd.IterableStep) -> None:
        for number in it.iterate_over(range(ITEMS)):
            with noted(key_of(self), f"item_{number}"):
                linger()


class Walking(gd.Workflow[Any]):
    """A loop over the records of a table."""

    @gd.resumable_step(checkpoint_every=3)
    def walk(self, it: gd.IterableStep) -> None:
        for record in it.iterate_over_records(select(Record), chunk=2):
            with noted(key_of(self), f"record_{record.id}"):
                linger()


class Booking(gd.Workflow[Any]):
    """A loop whose writes commit with its checkpoints."""

    @gd.resumable_step(checkpoint_every=2, transaction=True)
    def book(self, it: gd.IterableStep, session: Any) -> None:
        for number in it.iterate_over(range(ITEMS)):
            with noted(key_of(self), f"item_{number}"):
                leave_effect(session, self, f"item_{number}")
                linger()


class Limited(gd.Workflow[Any]):
    """Steps of which few may run at once, and some may start only so often."""

    presses = [  # noqa: RUF012 - steps
        gd.step(pass_by(f"presses_{number}"), limit=gd.Limit(key="trouble.press", concurrency=3))
        for number in STEPS
    ]

    @gd.step(limit=gd.Limit(key="trouble.paint", rate="50/s"))
    def paint(self) -> None:
        with noted(key_of(self), "paint"):
            linger()


class Async(gd.Workflow[Guest]):
    """Asynchronous bodies, one of them a loop."""

    may_proceed_without_hero = True

    @gd.step
    async def write(self) -> None:
        with noted(key_of(self), "write"):
            await asyncio.sleep(0.02)
            assert self.hero.name == NAME
            await asyncio.sleep(0.02)

    @gd.resumable_step
    async def post(self, it: gd.AsyncIterableStep) -> None:
        async for number in it.iterate_over(range(ITEMS)):
            with noted(key_of(self), f"letter_{number}"):
                await asyncio.sleep(0.02)


@gd.job
def visit(number: int, *, workflow: Any) -> None:
    with noted(key_of(workflow), f"visit_{number}"):
        linger()


@gd.job(transaction=True)
def settle(*, workflow: Any, session: Any) -> None:
    with noted(key_of(workflow), "settle"):
        linger()
        leave_effect(session, workflow, "settle")


def spread(drive: gd.Drive, key: str) -> None:
    w = gd.DynamicWorkflow(context={"key": key}, drive=drive)
    w.fan_out(range(6), name="visit_{}", job=visit, args=lambda number: {"number": number})
    w.node("settle", job=settle)
    w.start()
