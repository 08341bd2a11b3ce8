from __future__ import annotations

import subprocess
import sys

import pytest

import geneva_drive as gd


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


def _printed_by(script: str, *arguments: str) -> str:
    """Return what a script prints in a fresh interpreter."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_importing_the_library_loads_what_workflow_classes_need(loaded: frozenset[str]) -> None:
    assert {"geneva_drive", "geneva_drive.definition.workflow", "geneva_drive.errors"} <= loaded


def test_the_drive_is_loaded_by_its_name_and_without_the_object_mapper() -> None:
    script = (
        "import sys; import geneva_drive as gd; before = set(sys.modules); gd.Drive;"
        "print(*('sqlalchemy.orm' in modules for modules in (before, sys.modules)),"
        "*('sqlalchemy' in modules for modules in (before, sys.modules)))"
    )

    assert _printed_by(script) == "False False False True\n"


def test_a_worker_loads_the_object_mapper_before_it_starts_a_thread(
    migrated_sqlite_url: str,
) -> None:
    script = (
        "import sys; import geneva_drive as gd;"
        "worker = gd.Drive(sys.argv[1]).worker();"
        "before = 'sqlalchemy.orm' in sys.modules; worker.start();"
        "print(before, 'sqlalchemy.orm' in sys.modules); worker.stop()"
    )

    assert _printed_by(script, migrated_sqlite_url) == "False True\n"


def test_pydantic_is_loaded_by_the_first_context_type(migrated_sqlite_url: str) -> None:
    script = (
        "import sys; import geneva_drive as gd; from dataclasses import make_dataclass;"
        "gd.configure(sys.argv[1]);"
        "Plain = type('Plain', (gd.Workflow,), {'a': gd.step(lambda self: self.context)});"
        "Plain.create(context={}); worker = gd.current_drive().worker(); worker.start();"
        "worker.stop(); before = 'pydantic' in sys.modules;"
        "Plan = make_dataclass('Plan', [('name', str)]);"
        "gd.Workflow[int, Plan]; named = 'pydantic' in sys.modules;"
        "exec('class Typed(gd.Workflow[int, Plan]): pass');"
        "print(before, named, 'pydantic' in sys.modules)"
    )

    assert _printed_by(script, migrated_sqlite_url) == "False False True\n"


def test_pydantic_is_loaded_by_the_first_form() -> None:
    script = (
        "import sys; import geneva_drive as gd; from dataclasses import make_dataclass;"
        "Form = make_dataclass('Form', [('amount', int)]); sign = lambda self, decision: None;"
        "gd.approval(sign, role='legal'); before = 'pydantic' in sys.modules;"
        "gd.approval(sign, role='legal', form=Form); print(before, 'pydantic' in sys.modules)"
    )

    assert _printed_by(script) == "False True\n"


def test_cronsim_is_loaded_by_the_first_schedule(migrated_sqlite_url: str) -> None:
    script = (
        "import sys; import geneva_drive as gd; gd.configure(sys.argv[1]);"
        "Plain = type('Plain', (gd.Workflow,), {'a': gd.step(lambda self: None)});"
        "gd.current_drive().worker().run_until_idle(); before = 'cronsim' in sys.modules;"
        "gd.cron('0 9 * * *'); print(before, 'cronsim' in sys.modules)"
    )

    assert _printed_by(script, migrated_sqlite_url) == "False True\n"


def test_a_name_that_the_library_does_not_have_is_refused_in_the_usual_words() -> None:
    with pytest.raises(AttributeError, match=r"^module 'geneva_drive' has no attribute 'Dirve'$"):
        _ = gd.Dirve  # type: ignore[attr-defined]  # a misspelling


@pytest.mark.parametrize(
    "heavy",
    [
        "aiohttp",
        "alembic",
        "apprise",
        "celery",
        "click",
        "cronsim",
        "django",
        "fastapi",
        "flask",
        "geneva_drive.cli",
        "geneva_drive.declarative.document",
        "geneva_drive.storage.migrator",
        "geneva_drive.testing",
        "httpx",
        "hypothesis",
        "jinja2",
        "jmespath",
        "jsonschema_rs",
        "mako",
        "psycopg",
        "pydantic",
        "pymysql",
        "pytest",
        "re2",
        "rich",
        "sqlalchemy",
        "standardwebhooks",
        "starlette",
        "uvicorn",
    ],
)
def test_importing_the_library_does_not_load(loaded: frozenset[str], heavy: str) -> None:
    assert not {module for module in loaded if f"{module}.".startswith(f"{heavy}.")}
