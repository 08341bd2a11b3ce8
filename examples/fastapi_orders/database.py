"""The shop's own tables, and its connections, beside those of the Drive."""

from __future__ import annotations

from collections.abc import AsyncIterator

from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

import geneva_drive as gd

ASYNC_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}

drive = gd.configure()  # GENEVA_DATABASE_URL, or sqlite:///geneva.db
_driver = ASYNC_DRIVERS[drive.engine.url.get_backend_name()]
engine = create_async_engine(drive.engine.url.set(drivername=_driver))
new_session = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    customer: Mapped[str]
    total: Mapped[int]
    status: Mapped[str] = mapped_column(default="new")


async def open_session() -> AsyncIterator[AsyncSession]:
    async with new_session() as session:
        yield session


def create_tables() -> None:
    """Create what is missing; a real application has migrations of its own."""
    drive.migrate()
    Base.metadata.create_all(drive.engine)
