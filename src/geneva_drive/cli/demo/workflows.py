"""A shop that prints photos: the demo's application, written as yours would be."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ForeignKey, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import geneva_drive as gd

# Compressed, so that the demo ends before your coffee is cold; you would write timedelta(days=1).
DAY = timedelta(seconds=1.5)


class Base(DeclarativeBase):
    """The shop's own tables, in the same database as its workflows."""


class Customer(Base):
    __tablename__ = "customers"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    has_ordered: Mapped[bool] = mapped_column(default=False)


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    cents: Mapped[int]
    postcode: Mapped[str | None]


class Charge(Base):
    __tablename__ = "charges"

    id: Mapped[int] = mapped_column(primary_key=True)
    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"))
    cents: Mapped[int]


class Email(Base):
    __tablename__ = "emails"

    id: Mapped[int] = mapped_column(primary_key=True)
    recipient: Mapped[str]
    subject: Mapped[str]


class Catalogue(Base):
    """What a supplier offers, delivered as a table of rows."""

    __tablename__ = "catalogues"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class CatalogueRow(Base):
    __tablename__ = "catalogue_rows"

    id: Mapped[int] = mapped_column(primary_key=True)
    catalogue_id: Mapped[int] = mapped_column(ForeignKey("catalogues.id"))
    name: Mapped[str]


class Article(Base):
    """What the shop sells, made of a row of a catalogue."""

    __tablename__ = "articles"

    id: Mapped[int] = mapped_column(primary_key=True)
    row_id: Mapped[int]  # not unique: that each row is imported once is up to the step
    name: Mapped[str]


class Ledger(Base):
    """A month of the shop's books."""

    __tablename__ = "ledgers"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    expected_cents: Mapped[int]  # what the bank says
    balance_cents: Mapped[int | None]  # what was booked


class PaymentProvider(Base):
    """A service elsewhere, played by a row, so that the demo can keep it busy."""

    __tablename__ = "payment_provider"

    id: Mapped[int] = mapped_column(primary_key=True)
    is_busy: Mapped[bool]


class RateLimited(Exception):
    """The payment provider wants to be asked again later."""


class NoAnswer(Exception):
    """The fraud service said nothing in time."""


class Signup(gd.Workflow[Customer]):
    """Welcome a new customer, then come back after days."""

    @gd.step(transaction=True)
    def send_welcome(self, session: Session) -> None:
        session.add(Email(recipient=self.hero.name, subject="Welcome"))

    @gd.step(wait=3 * DAY, skip_if="has_ordered", transaction=True)
    def send_reminder(self, session: Session) -> None:
        session.add(Email(recipient=self.hero.name, subject="Your first print is free"))

    @gd.step(wait=6 * DAY, transaction=True)
    def ask_opinion(self, session: Session) -> None:
        session.add(Email(recipient=self.hero.name, subject="How do you like it?"))

    def has_ordered(self) -> bool:
        return self.hero.has_ordered


class Checkout(gd.Workflow[Order]):
    """Take the money once, however often it takes to get through, and ship."""

    # The charge and the step's completion are one transaction: both are there, or neither.
    @gd.step(
        transaction=True,
        on_exception=gd.ExceptionPolicy(
            "reattempt", matching=RateLimited, wait=gd.exponential(base=0.4), max_reattempts=8
        ),
    )
    def charge_card(self, session: Session) -> None:
        if session.get_one(PaymentProvider, 1).is_busy:
            raise RateLimited("429 Too Many Requests")
        session.add(Charge(order_id=self.hero.id, cents=self.hero.cents))

    @gd.step
    def print_label(self) -> None:
        if self.hero.postcode is None:
            raise ValueError("the order has no postcode")

    @gd.step(wait=1 * DAY, transaction=True)
    def send_tracking(self, session: Session) -> None:
        session.add(Email(recipient=self.hero.name, subject="Your parcel is on its way"))


class PhotoBook(Checkout):
    """A checkout with pages that take a while to render first."""

    @gd.step(before_step=Checkout.charge_card)
    def render_pages(self) -> None:
        time.sleep(2.2)


class Import(gd.Workflow[Catalogue]):
    """Take over a supplier's catalogue, row by row, and never start over."""

    # A hundred articles and the cursor behind them are one transaction: both are there, or neither.
    @gd.resumable_step(transaction=True, checkpoint_every=100)
    def import_rows(self, it: gd.IterableStep, session: Session) -> None:
        rows = select(CatalogueRow.id, CatalogueRow.name).where(
            CatalogueRow.catalogue_id == self.hero.id
        )
        count = select(func.count()).select_from(rows.subquery())
        it.progress(total=lambda: session.execute(count).scalar_one())
        for row in it.iterate_over_records(rows):
            session.add(Article(row_id=row.id, name=row.name))
            if row.id % 1000 == 0:
                time.sleep(0.02)  # slow enough to be watched


class Parcel(gd.Workflow[Order]):
    """Bring an order to the post: a workflow of its own, which others start and wait for."""

    @gd.step
    def pack(self) -> None:
        time.sleep(0.2)

    @gd.step
    def hand_over(self) -> None:
        time.sleep(0.2)


class CheckedOrder(gd.Workflow[Order]):
    """Check an order from three sides at once, charge it, wrap it as wished, and ship it."""

    @gd.step
    def validate(self) -> None:
        if self.hero.cents <= 0:
            raise ValueError("the order is for free")

    @gd.task(depends_on=validate)
    def check_inventory(self) -> None:
        time.sleep(0.5)

    @gd.task(depends_on=validate, retry=gd.Retry(max=3, backoff=0.3))
    def check_fraud(self) -> None:
        time.sleep(0.2)
        if self.attempt == 1:
            raise NoAnswer("the fraud service does not answer")

    @gd.task(depends_on=validate)
    def check_credit(self) -> None:
        time.sleep(0.9)

    @gd.step(depends_on=[check_inventory, check_fraud, check_credit], transaction=True)
    def charge_card(self, session: Session) -> None:
        session.add(Charge(order_id=self.hero.id, cents=self.hero.cents))

    @gd.decision(depends_on=charge_card)
    def wrapping(self) -> str:
        return "gift_wrap" if self.context["is_gift"] else "plain"

    @gd.task(depends_on=wrapping)
    def gift_wrap(self) -> None:
        time.sleep(0.3)

    @gd.task(depends_on=wrapping)
    def plain(self) -> None:
        time.sleep(0.1)

    ship = gd.child(Parcel, hero=lambda self: self.hero, depends_on=[gift_wrap, plain])


# What it returns is stored with the node's completion: both are there, or neither.
@gd.job(keep_result=True)
def book_mutation(cents: int) -> int:
    time.sleep(0.03)  # slow enough to be watched
    return cents


@gd.job(transaction=True)
def add_up(*, workflow: gd.Workflow[Ledger], session: Session) -> None:
    booked = (e.result for e in workflow.handle.step_executions if e.outcome == "success")
    session.get_one(Ledger, workflow.hero.id).balance_cents = sum(booked)


@gd.job(transaction=True)
def tell_bookkeeper(*, workflow: gd.Workflow[Ledger], session: Session) -> None:
    session.add(Email(recipient=workflow.hero.name, subject="The books are closed"))


@gd.template(name="close_ledger")
def close_ledger(w: gd.DynamicWorkflow, mutations: Sequence[int]) -> None:
    """Book all mutations, in any order and at once; then add up, then tell."""
    w.fan_out(
        enumerate(mutations, 1),
        name=lambda numbered: f"mutation_{numbered[0]}",
        job=book_mutation,
        args=lambda numbered: {"cents": numbered[1]},
    )
    w.node("aggregate", job=add_up)
    w.node("notify", job=tell_bookkeeper)
