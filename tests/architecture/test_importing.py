from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def loaded() -> frozenset[str]:
    """The modules that `import geneva_drive` loads in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import geneva_drive"],
        capture_output=True,
        text=True,
        check=True,
    )
    return frozenset(line.rpartition("|")[2].strip() for line in done.stderr.splitlines())


def test_importing_the_library_loads_its_rooms_up_to_the_drive(loaded: frozenset[str]) -> None:
    assert {
        "geneva_drive",
        "geneva_drive.definition.workflow",
        "geneva_drive.drive.drive",
        "sqlalchemy",
    } <= loaded


@pytest.mark.parametrize(
    "heavy",
    [
        "aiohttp",
        "alembic",
        "celery",
        "click",
        "django",
        "fastapi",
        "flask",
        "geneva_drive.cli",
        "geneva_drive.storage.migrating",
        "geneva_drive.testing",
        "httpx",
        "hypothesis",
        "jinja2",
        "mako",
        "psycopg",
        "pydantic",
        "pymysql",
        "pytest",
        "rich",
        "starlette",
        "uvicorn",
    ],
)
def test_importing_the_library_does_not_load(loaded: frozenset[str], heavy: str) -> None:
    assert not {module for module in loaded if f"{module}.".startswith(f"{heavy}.")}
