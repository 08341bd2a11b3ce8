"""The demo's application on a database of its own."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.cli import demo
from geneva_drive.cli.demo.snapshot import Snapshot
from geneva_drive.definition import registry

_MODULES = (
    "workflows",
    "observer",
    "promises",
    "run",
    "story",
    "batch_story",
    "event_story",
    "main",
)


@dataclass(frozen=True, slots=True)
class Shop:
    """The demo's modules, and a database without workers."""

    drive: gd.Drive
    modules: dict[str, Any]
    look: Callable[[], Snapshot]

    @property
    def tables(self) -> Any:
        return self.modules["workflows"]

    def add(self, *rows: object) -> None:
        with Session(self.drive.engine) as session, session.begin():
            session.add_all(rows)

    def order(self, name: str) -> Any:
        """Create an order with its workflow, and return the workflow."""
        checkouts = self.tables.Checkout.using(self.drive)
        with Session(self.drive.engine) as session, session.begin():
            order = self.tables.Order(name=name, cents=100, postcode="1011 AB")
            session.add(order)
            return checkouts.create(order, session=session)


@pytest.fixture
def shop(migrated_file: Path, tmp_path: Path) -> Iterator[Shop]:
    with registry.isolated():
        modules = {name: _import(name) for name in _MODULES}
        shutil.copy(migrated_file, tmp_path / "demo.db")
        drive = gd.Drive(f"sqlite:///{tmp_path / 'demo.db'}")
        modules["workflows"].Base.metadata.create_all(drive.engine)
        observer = modules["observer"].DemoObserver(drive)
        yield Shop(drive, modules, lambda: observer.look({}))
        drive.close()
    # Other tests define classes of the same names: these are known as long as their modules.
    for name, module in modules.items():
        del sys.modules[module.__name__]
        delattr(demo, name)


def _import(name: str) -> ModuleType:
    return importlib.import_module(f"{demo.__name__}.{name}")
