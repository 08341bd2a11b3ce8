from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from geneva_drive.engine.heroes import heroes
from tests.web.dashboard.signing_in import Browser, signed_in

if TYPE_CHECKING:
    from tests.web.dashboard.shop_data import Shop

_FILLED: list[tuple[Path, Shop]] = []


@pytest.fixture
def app(sqlite_drive: gd.Drive) -> FastAPI:
    made = gd.asgi(sqlite_drive)
    assert isinstance(made, FastAPI)
    return made


@pytest.fixture(scope="module")
def filled(own_classes: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Shop]:
    """A file with the shop of the design's pictures, made once by each process."""
    from tests.web.dashboard.shop_data import fill

    if not _FILLED:
        path = tmp_path_factory.mktemp("filled") / "shop-production"
        drive = gd.Drive(f"sqlite:///{path}")
        drive.migrate()
        # Other tests of this process may have mapped a class `Order`, whose table is elsewhere.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(heroes, "_class_for", lambda *_: None)
            _FILLED.append((path, fill(drive)))
        drive.close()
    return _FILLED[0]


@pytest.fixture(scope="module")
def shop_drive(
    filled: tuple[Path, Shop], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[gd.Drive]:
    """The shop, for the tests of a module; import `shop_workflows` there."""
    path = tmp_path_factory.mktemp("shop") / "shop-production"
    shutil.copy(filled[0], path)
    drive = gd.Drive(f"sqlite:///{path}")
    yield drive
    drive.close()


@pytest.fixture(scope="module")
def shop(filled: tuple[Path, Shop]) -> Shop:
    """The ids of some workflows of the shop."""
    return filled[1]


@pytest.fixture(scope="module")
def shop_app(shop_drive: gd.Drive) -> Any:
    return gd.asgi(shop_drive)


@pytest.fixture(scope="module")
def viewer(shop_app: Any, shop_drive: gd.Drive) -> Browser:
    return signed_in(shop_app, shop_drive, "viewer", name="Ove Lund")


@pytest.fixture(scope="module")
def operator(shop_app: Any, shop_drive: gd.Drive) -> Browser:
    return signed_in(shop_app, shop_drive, "operator", "sales_manager", name="Ingrid Dahl")
