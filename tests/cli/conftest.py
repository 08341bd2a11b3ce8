"""The command line is tested on SQLite; where the SQL differs, a module asks for every database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import geneva_drive as gd
from geneva_drive.cli.main import cli
from geneva_drive.definition import registry
from geneva_drive.drive import default

Run = Callable[..., Result]
WriteApp = Callable[[str, str], str]


class StandingClock:
    """Always the same moment, so that screens can be compared whole."""

    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def geneva_database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'geneva.db'}"


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process of its own: a clean environment; Drive and classes end with the test."""
    for variable in ("GENEVA_APP", "GENEVA_DATABASE_URL", "GENEVA_DEBUG", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LOGNAME", "ada")
    with registry.isolated():
        yield
    default.use(None)


@pytest.fixture
def run() -> Run:
    """Call `geneva` in this process; what it does not foresee is raised."""

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, arguments, catch_exceptions=False)

    return invoke


@pytest.fixture
def standing(geneva: gd.Drive) -> gd.Drive:
    """The Drive at 2026-01-02 03:04:05 UTC, for ever."""
    geneva.clock = StandingClock()
    return geneva


@pytest.fixture
def write_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteApp]:
    """Write a module into the current directory; what it imported is forgotten at the end."""
    folder = tmp_path / "app"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    written: list[str] = []

    def write(name: str, source: str) -> str:
        written.append(name)
        folder.joinpath(f"{name}.py").write_text(source)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)
