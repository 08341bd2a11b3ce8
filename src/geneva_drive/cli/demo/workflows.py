"""A shop that prints photos: the demo's app, written as you would write yours."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, declared_attr, mapped_column

import geneva_drive as gd

# Compressed for the demo. You would write timedelta(days=1).
DAY = timedelta(seconds=1.5)
ROWS = 100_000  # of a supplier's catalogue
BATCH_ROWS = 10_000  # of a bank's statement
# In cents, of one month. Losing one and counting another twice would change the sum.
MUTATIONS = [number**2 for number in range(1, 501)]


class Base(DeclarativeBase):
    """The shop's own tables, in the same database as its workflows."""

    id: Mapped[int] = mapped_column(primary_key=True)

    @declared_attr.directive
    def __tablename__(cls) -> str:  # noqa: N805 - SQLAlchemy passes the class
        return f"shop_{cls.__name__.lower()}"


class Customer(Base):
    name: Mapped[str]
    has_ordered: Mapped[bool] = mapped_column(default=False)


class Order(Base):
    name: Mapped[str]
    cents: Mapped[int]
    postcode: Mapped[str | None]


class Charge(Base):
    order_id: Mapped[int] = mapped_column(ForeignKey("shop_order.id"))
    cents: Mapped[int]


class Repayment(Base):
    order_id: Mapped[int] = mapped_column(ForeignKey("shop_order.id"))


class Statement(Base):
    name: Mapped[str]
    damaged_row: Mapped[int | None]


class Email(Base):
    to: Mapped[str]
    subject: Mapped[str]


class Article(Base):
    row_number: Mapped[int]  # not unique: the step must import each row once


class PaymentProvider(Base):
    """An external service. It is a row here, so that the demo can make it refuse requests."""

    is_busy: Mapped[bool]


class Signup(gd.Workflow[Customer]):
    """Welcome a new customer, and write again days later."""

    @gd.step(transaction=True)
    def send_welcome(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="Welcome"))

    @gd.step(wait=3 * DAY, skip_if="has_ordered", transaction=True)
    def send_reminder(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="A print for free"))

    @gd.step(wait=6 * DAY, transaction=True)
    def ask_opinion(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="How was it?"))

    def has_ordered(self) -> bool:
        return self.hero.has_ordered


class Checkout(gd.Workflow[Order]):
    """Charge an order once, however many attempts it takes, and ship it."""

    # The charge and the step's completion commit together, or not at all.
    @gd.step(
        retry=gd.Retry(max=8, backoff=gd.exponential(base=0.4)),
        transaction=True,
    )
    def charge_card(self, session: Session) -> None:
        if session.get_one(PaymentProvider, 1).is_busy:
            raise ConnectionError("429 Too Many Requests")
        session.add(Charge(order_id=self.hero.id, cents=self.hero.cents))

    @gd.step
    def print_label(self) -> None:
        if self.hero.postcode is None:
            raise ValueError("no postcode")

    @gd.step(wait=1 * DAY, transaction=True)
    def send_tracking(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="It is on its way"))


class Refund(gd.Workflow[Order]):
    """Pay an order back, if a manager approves, or the director."""

    @gd.approval(
        role="manager",
        ask="Pay {hero.cents} cents back for {hero.name}?",
        timeout=5 * DAY,
        on_timeout="escalate",
        escalate_to="director",
        on_reject="apologize",
    )
    def approval(self, decision: gd.ApprovalDecision) -> None: ...

    # The repayment and the step's completion commit together.
    @gd.task(depends_on=approval, transaction=True)
    def pay_back(self, session: Session) -> None:
        session.add(Repayment(order_id=self.hero.id))

    @gd.task(depends_on=approval, transaction=True)
    def apologize(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="Sorry"))


class PaidOrder(gd.Workflow[Order]):
    """Ship an order once it is paid, or ask for the money again."""

    triggers = ("order.placed",)

    @classmethod
    def hero_from_event(cls, event: gd.Event) -> gd.HeroRef:
        return gd.HeroRef("Order", event.payload["order"])

    @gd.step(transaction=True)
    def send_invoice(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="Your invoice"))

    @gd.wait_for_event(
        "payment.received",
        key=lambda self: self.hero_id,
        timeout=12 * DAY,
        on_timeout="send_reminder",
    )
    def payment(self, event: gd.Event) -> None: ...

    # The booking and the step's completion commit together.
    @gd.task(depends_on=payment, transaction=True)
    def ship(self, session: Session) -> None:
        cents = self.result_of("payment").payload["cents"]
        session.add(Charge(order_id=self.hero.id, cents=cents))

    @gd.task(depends_on=payment, transaction=True)
    def send_reminder(self, session: Session) -> None:
        session.add(Email(to=self.hero.name, subject="Please pay"))


class PhotoBook(Checkout):
    """A checkout that renders pages first, which is slow."""

    @gd.step(before_step=Checkout.charge_card)
    def render_pages(self) -> None:
        time.sleep(3)


class Import(gd.Workflow):
    """Import a supplier's catalogue row by row, and never start over."""

    # 100 articles and the cursor commit together, or not at all.
    @gd.resumable_step(transaction=True, checkpoint_every=100)
    def import_rows(self, it: gd.IterableStep, session: Session) -> None:
        it.progress(total=ROWS)
        for number in it.iterate_over(range(ROWS)):
            session.add(Article(row_number=number))
            if number % 1000 == 0:
                time.sleep(0.02)  # slow enough to be watched


class CheckedOrder(gd.Workflow[Order]):
    """Run three checks of an order in parallel, then charge and ship it."""

    @gd.step
    def validate(self) -> None:
        if self.hero.cents <= 0:
            raise ValueError("no price")

    @gd.task(depends_on=validate)
    def check_inventory(self) -> None:
        time.sleep(1.0)

    @gd.task(depends_on=validate, retry=gd.Retry(max=3, backoff=1))
    def check_fraud(self) -> None:
        if self.attempt == 1:
            raise TimeoutError("no answer")

    @gd.task(depends_on=validate)
    def check_credit(self) -> None:
        time.sleep(2.0)

    @gd.step(
        depends_on=[check_inventory, check_fraud, check_credit],
        transaction=True,
    )
    def charge_card(self, session: Session) -> None:
        session.add(Charge(order_id=self.hero.id, cents=self.hero.cents))

    @gd.step(depends_on=charge_card)
    def ship(self) -> None:
        time.sleep(0.6)


class Reconcile(gd.Workflow[Statement]):
    """Add up a bank's statement in five parts, four at a time."""

    @gd.batch(
        checkpoint_interval=100,
        parallelism=4,
        failure_strategy="isolate",
    )
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=BATCH_ROWS, batch_size=2_000)

    # A yield is saved, and then the body is called again at its cursor.
    @rows.worker
    def add_rows(self, batch: gd.Batch) -> int | gd.CheckpointYield:
        end = min(batch.position + batch.checkpoint_interval, batch.end)
        if self.hero.damaged_row in range(batch.position, end):
            raise ValueError(f"row {self.hero.damaged_row:,} is damaged")
        total = batch.accumulated_results or 0
        total += cents(batch.position, end)
        if end < batch.end:
            return batch.checkpoint_yield(end, end - batch.start, total)
        return total

    @rows.aggregate
    def total(self, results: gd.BatchResults) -> int:
        return sum(results.by_worker.values())


def cents(start: int, end: int) -> int:
    """Add up the rows from `start` up to `end`."""
    time.sleep(0.2)  # slow enough to be watched
    return sum(number**2 for number in range(start, end))


# The result and the node's completion commit together, or not at all.
@gd.job(keep_result=True)
def book_mutation(cents: int) -> int:
    time.sleep(0.03)  # slow enough to be watched
    return cents


@gd.job(keep_result=True)
def add_up(*, workflow: gd.Workflow) -> int:
    return sum(workflow.results_of())


@gd.job(transaction=True)
def tell_bookkeeper(*, workflow: gd.Workflow, session: Session) -> None:
    [cents] = workflow.results_of()
    session.add(Email(to="bookkeeper", subject=f"{cents} cents are booked"))


@gd.template(name="close_ledger")
def close_ledger(w: gd.DynamicWorkflow, mutations: Sequence[int]) -> None:
    """Book all mutations in parallel, add them up, tell the bookkeeper."""
    w.fan_out(
        enumerate(mutations, 1),
        name=lambda numbered: f"mutation_{numbered[0]}",
        job=book_mutation,
        args=lambda numbered: {"cents": numbered[1]},
    )
    w.node("aggregate", job=add_up)
    w.node("notify", job=tell_bookkeeper)
