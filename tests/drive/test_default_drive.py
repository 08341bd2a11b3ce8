"""The process's default Drive, and further ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

import geneva_drive as gd
from geneva_drive.drive import default_drive
from geneva_drive.testing import speedrun


class Delivery(gd.Workflow[Any]):
    type_name = "test_default_drive.Delivery"

    @gd.step
    def pack(self) -> None: ...


@pytest.fixture(autouse=True)
def _no_default() -> Iterator[None]:
    default_drive.use(None)
    yield
    default_drive.use(None)


def url_in(folder: Path, name: str) -> str:
    return f"sqlite:///{folder / name}"


def test_configure_sets_and_returns_the_default(tmp_path: Path) -> None:
    drive = gd.configure(url_in(tmp_path, "a.db"))

    assert gd.current_drive() is drive


def test_the_last_configure_wins(tmp_path: Path) -> None:
    gd.configure(url_in(tmp_path, "a.db"))
    second = gd.configure(url_in(tmp_path, "b.db"))
    second.migrate()

    assert Delivery.create().drive is second


def test_configure_closes_the_former_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[gd.Drive] = []
    first = gd.configure(url_in(tmp_path, "a.db"))
    monkeypatch.setattr(first, "close", lambda: closed.append(first))

    gd.configure(url_in(tmp_path, "b.db"))

    assert closed == [first]


def test_without_configure_the_environment_names_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", url_in(tmp_path, "from_environment.db"))

    assert gd.current_drive().database_url == url_in(tmp_path, "from_environment.db")
    assert gd.current_drive() is gd.current_drive()


@pytest.mark.parametrize("exists", [False, True], ids=["no file", "no tables"])
def test_a_forgotten_configure_is_told_at_the_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    monkeypatch.delenv("GENEVA_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    if exists:
        (tmp_path / "geneva.db").touch()

    with pytest.raises(gd.errors.NotMigrated) as refusal:
        Delivery.create()

    assert str(refusal.value) == (
        "gd.configure() was not called, so the database is the default, sqlite:///geneva.db, and "
        "it has no GenevaDrive tables. Call gd.configure() with the URL of your database first, or "
        "set GENEVA_DATABASE_URL. To use the default, call gd.current_drive().migrate() or run "
        "`geneva migrate`."
    )


def test_a_default_database_that_is_migrated_needs_no_configure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GENEVA_DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    gd.current_drive().migrate()

    assert Delivery.create().state == "ready"


@pytest.mark.parametrize("act", [gd.Drive.migrate, Delivery.using], ids=["migrate", "create"])
def test_a_sqlite_file_in_a_missing_folder_is_told(tmp_path: Path, act: Any) -> None:
    folder = tmp_path / "gone"
    drive = gd.configure(url_in(folder, "geneva.db"))

    with pytest.raises(gd.errors.StorageError) as refusal:
        act(drive).create()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} cannot be opened: there is no folder "
        f"{str(folder)!r}. Create it, or correct the URL: --database, GENEVA_DATABASE_URL, or your "
        f"app's own."
    )


def test_without_anything_the_database_is_a_file_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GENEVA_DATABASE_URL", raising=False)

    assert gd.current_drive().database_url == "sqlite:///geneva.db"


def test_configure_without_a_url_reads_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", url_in(tmp_path, "from_environment.db"))

    drive = gd.configure(lease="90s")

    assert drive.database_url == url_in(tmp_path, "from_environment.db")
    assert drive.settings.lease == timedelta(seconds=90)


def test_the_url_is_a_setting_too(tmp_path: Path) -> None:
    drive = gd.configure(database_url=url_in(tmp_path, "keyword.db"))

    assert drive.database_url == url_in(tmp_path, "keyword.db")


def test_a_further_drive_is_independent_of_the_default(tmp_path: Path) -> None:
    gd.configure(url_in(tmp_path, "a.db")).migrate()
    other = gd.Drive(url_in(tmp_path, "b.db"))
    other.migrate()

    workflow = Delivery.using(other).create()
    speedrun(workflow)

    assert workflow.drive is other
    assert Delivery.using(other).finished().ids() == [workflow.id]
    assert gd.Workflow.finished().count() == 0
    other.close()


def test_a_drive_takes_an_engine_and_leaves_it_open(tmp_path: Path) -> None:
    engine = create_engine(url_in(tmp_path, "a.db"))
    drive = gd.Drive(engine)
    drive.migrate()
    Delivery.using(drive).create()
    drive.close()

    assert drive.engine is engine
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()


def test_a_closed_drive_opens_again_when_it_is_used(tmp_path: Path) -> None:
    drive = gd.configure(url_in(tmp_path, "a.db"))
    drive.migrate()
    workflow = Delivery.create()
    drive.close()

    assert workflow.reload().state == "ready"


def test_a_drive_tells_its_database_without_the_password() -> None:
    drive = gd.Drive("postgresql://ada:secret@db.example/geneva")

    assert repr(drive) == "<Drive postgresql+psycopg://ada:***@db.example/geneva>"


def test_two_drives_with_different_prefixes_share_a_database(tmp_path: Path) -> None:
    first = gd.configure(url_in(tmp_path, "a.db"))
    second = gd.Drive(first.engine, table_prefix="second_")
    first.migrate()
    second.migrate()

    Delivery.using(second).create()

    assert gd.Workflow.ready().count() == 0
    assert gd.Workflow.using(second).ready().count() == 1


def test_tables_that_are_not_there_are_told_at_the_first_use(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    drive = gd.configure(url_in(tmp_path, "a.db"))

    with pytest.raises(gd.errors.NotMigrated) as refusal:
        Delivery.create()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} has no GenevaDrive tables yet, or older ones. "
        f"Run `geneva migrate` with the same --app or --database, or call drive.migrate()."
    )
