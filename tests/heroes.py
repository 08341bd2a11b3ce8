"""Records for workflows to be about, one for each kind of key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID, uuid4

from sqlalchemy import String, Uuid, delete
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

import geneva_drive as gd

H = TypeVar("H", bound="Base")


class Base(DeclarativeBase):
    """The users' own tables."""


class User(Base):
    __tablename__ = "test_users"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class Parcel(Base):
    __tablename__ = "test_parcels"

    id: Mapped[UUID] = mapped_column(Uuid(), primary_key=True, default=uuid4)


class Country(Base):
    __tablename__ = "test_countries"

    code: Mapped[str] = mapped_column(String(10), primary_key=True)


class OrderLine(Base):
    __tablename__ = "test_order_lines"

    order_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sku: Mapped[str] = mapped_column(String(20), primary_key=True)


class Invoice(Base):
    __tablename__ = "test_invoices"
    __geneva_type__ = "billing.Invoice"

    id: Mapped[int] = mapped_column(primary_key=True)


@contextmanager
def hero_tables(drive: gd.Drive) -> Iterator[None]:
    """Make the tables if they are not there, and empty them."""
    Base.metadata.create_all(drive.engine)
    with drive.engine.begin() as connection:
        for table in Base.metadata.sorted_tables:
            connection.execute(delete(table))
    yield


def save(drive: gd.Drive, hero: H) -> H:
    """Commit a hero, and give it back detached."""
    with Session(drive.engine, expire_on_commit=False) as session:
        session.add(hero)
        session.commit()
    return hero


def names(drive: gd.Drive) -> list[str]:
    """The names of all users that are committed, in order."""
    with Session(drive.engine) as session:
        return sorted(user.name for user in session.query(User))
