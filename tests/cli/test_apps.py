"""Finding the user's code and the database: --app, --database and the environment."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.storage.schema.revisions import HEAD
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run, WriteApp

APP = """
import geneva_drive as gd

class Parcel(gd.Workflow):
    @gd.step
    def pack(self): raise ValueError("no box")
    @gd.step
    def send(self): ...

drive = gd.Drive("sqlite:///other.db", table_prefix="other_")
number = 5
"""


def _forgotten_parcel() -> None:
    """Leave a workflow behind whose class this process no longer has."""

    with registry.isolated():

        class Parcel(gd.Workflow):
            @gd.step
            def pack(self) -> None:
                raise ValueError("no box")

        speedrun(Parcel.create())


def test_the_class_that_a_command_needs_is_imported_by_app(
    geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    _forgotten_parcel()

    result = run("--app", write_app("parcels_a", APP), "skip", "1", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["next_step_name"] == "send"


def test_app_may_follow_the_command(geneva: gd.Drive, run: Run, write_app: WriteApp) -> None:
    _forgotten_parcel()

    result = run("skip", "1", "--json", "--app", write_app("parcels_b", APP))

    assert json.loads(result.stdout)["next_step_name"] == "send"


def test_app_is_taken_from_the_environment(
    geneva: gd.Drive, run: Run, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forgotten_parcel()
    monkeypatch.setenv("GENEVA_APP", write_app("parcels_c", APP))

    result = run("skip", "1", "--json")

    assert json.loads(result.stdout)["next_step_name"] == "send"


def test_app_on_the_command_line_wins_over_the_environment(
    geneva: gd.Drive, run: Run, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    _forgotten_parcel()
    monkeypatch.setenv("GENEVA_APP", "no_such_app")

    result = run("--app", write_app("parcels_d", APP), "skip", "1")

    assert result.exit_code == 0


def test_the_drive_that_app_names_is_used(geneva: gd.Drive, run: Run, write_app: WriteApp) -> None:
    app = write_app("parcels_e", APP)

    result = run("migrate", "--app", f"{app}:drive")
    sys.modules[app].drive.close()

    assert result.stdout == f"sqlite:///other.db was migrated to revision {HEAD}.\n"


def test_database_replaces_the_one_of_the_app_and_keeps_its_settings(
    geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    app = write_app("parcels_f", APP)

    result = run("migrate", "--sql", "--app", f"{app}:drive", "--database", "sqlite:///third.db")

    assert "CREATE TABLE other_workflows" in result.stdout
    assert gd.current_drive().database_url == "sqlite:///third.db"


def test_database_is_taken_from_the_environment(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", f"sqlite:///{tmp_path / 'named.db'}")

    result = run("migrate")

    assert result.stdout == f"sqlite:///{tmp_path / 'named.db'} was migrated to revision {HEAD}.\n"


TWO_DRIVES = """
import geneva_drive as gd

orders = gd.Drive("sqlite:///orders.db")
billing = gd.Drive("sqlite:///billing.db")
same = orders
"""


def test_an_app_with_two_drives_and_no_default_asks_for_the_one_to_use(
    run: Run, write_app: WriteApp
) -> None:
    result = run("list", "--app", write_app("two_drives_a", TWO_DRIVES))

    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        "",
        "geneva: --app 'two_drives_a': it does not call gd.configure(), so it has no default "
        "Drive. Name its Drive: --app two_drives_a:orders or --app two_drives_a:billing.\n",
    )


def test_an_app_with_a_default_and_further_drives_tells_which_is_used(
    run: Run, write_app: WriteApp
) -> None:
    source = f"{TWO_DRIVES}\ndefault = gd.configure('sqlite:///default.db')\n"

    result = run("migrate", "--app", write_app("two_drives_b", source))

    assert result.exit_code == 0
    assert result.stderr == (
        "geneva: --app 'two_drives_b' has several Drives. The default is used: "
        "sqlite:///default.db. To use another, pass --app two_drives_b:orders "
        "(sqlite:///orders.db) or --app two_drives_b:billing (sqlite:///billing.db).\n"
    )


@pytest.mark.parametrize("options", [(":billing", ()), ("", ("--database", "sqlite:///x.db"))])
def test_an_app_whose_drive_or_database_is_named_needs_no_warning(
    run: Run, write_app: WriteApp, options: tuple[str, tuple[str, ...]]
) -> None:
    app = write_app("two_drives_c", TWO_DRIVES)

    result = run("migrate", "--app", f"{app}{options[0]}", *options[1])
    sys.modules[app].billing.close()

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("variable", ["sqlite:///elsewhere.db", "no url"])
def test_a_variable_that_the_app_overrules_is_told(
    run: Run, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", variable)
    source = "import geneva_drive\ngeneva_drive.configure('sqlite:///own.db')"

    result = run("migrate", "--app", write_app("decided", source))

    assert result.stdout == f"sqlite:///own.db was migrated to revision {HEAD}.\n"
    assert result.stderr == (
        "geneva: GENEVA_DATABASE_URL is not used, because the app names its own database: "
        "sqlite:///own.db. For another database, pass --database, or call gd.configure() in the "
        "app without a URL.\n"
    )


def test_a_variable_that_the_app_follows_needs_no_warning(
    run: Run, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_DATABASE_URL", "sqlite:///own.db")

    result = run("migrate", "--app", write_app("obedient", "import geneva_drive as gd"))

    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("app", "message"),
    [
        pytest.param(
            "nowhere.parcels",
            "geneva: --app 'nowhere.parcels': there is no module 'nowhere' in the current "
            "directory or on the Python path.\n",
            id="no-such-module",
        ),
        pytest.param(
            "json.parcels",
            "geneva: --app 'json.parcels': there is no module 'json.parcels' in the current "
            "directory or on the Python path.\n",
            id="no-such-submodule",
        ),
        pytest.param(
            "parcels_g:nothing",
            "geneva: --app 'parcels_g:nothing': module 'parcels_g' has no 'nothing'.\n",
            id="no-such-attribute",
        ),
        pytest.param(
            "parcels_g:number",
            "geneva: --app 'parcels_g:number': 'number' must be a gd.Drive, got a int.\n",
            id="not-a-drive",
        ),
        pytest.param(
            "parcels_g.py",
            "geneva: --app 'parcels_g.py': write it without .py: --app parcels_g.\n",
            id="a-file-name",
        ),
        pytest.param(
            "shop/parcels.py",
            "geneva: --app 'shop/parcels.py': write it as package.module or "
            "package.module:drive.\n",
            id="not-a-module",
        ),
    ],
)
def test_an_app_that_is_not_there_is_named(
    geneva: gd.Drive, run: Run, write_app: WriteApp, app: str, message: str
) -> None:
    write_app("parcels_g", APP)

    result = run("list", "--app", app)

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", message)


@pytest.mark.parametrize(
    ("name", "source", "cause"),
    [
        pytest.param(
            "broken_a",
            "import stripes\n",
            "ModuleNotFoundError: No module named 'stripes' (broken_a.py, line 1).",
            id="missing-dependency",
        ),
        pytest.param(
            "broken_b",
            "\nfrom json import nothing\n",
            "ImportError: cannot import name 'nothing' from 'json'",
            id="missing-name",
        ),
        pytest.param(
            "broken_c",
            "x = = 1\n",
            "SyntaxError: invalid syntax (broken_c.py, line 1).",
            id="syntax",
        ),
    ],
)
def test_an_app_that_cannot_be_imported_says_why_and_where(
    geneva: gd.Drive, run: Run, write_app: WriteApp, name: str, source: str, cause: str
) -> None:
    result = run("list", "--app", write_app(name, source))

    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"geneva: --app {name!r}: module {name!r} cannot be imported. {cause}"
    )
    assert len(result.stderr.splitlines()) == 1


def test_a_wrong_variable_is_not_blamed_on_the_app_that_meets_it(
    run: Run, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENEVA_LEASE", "abc")

    source = "import geneva_drive\ngeneva_drive.configure()"

    result = run("list", "--app", write_app("unlucky", source))

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: Setting GENEVA_LEASE: 'abc' is not a duration (a timedelta, seconds, or text such "
        "as '30s').\n",
    )


def test_a_setting_that_the_app_itself_gets_wrong_is_blamed_on_it(
    run: Run, write_app: WriteApp
) -> None:
    source = "import geneva_drive\ngeneva_drive.configure(lease='abc')"

    result = run("list", "--app", write_app("careless", source))

    assert result.stderr.startswith(
        "geneva: --app 'careless': module 'careless' cannot be imported. InvalidInput: Setting "
        "lease: 'abc' is not a duration "
    )


def test_a_wrong_workflow_class_in_the_app_is_told_in_one_line(
    geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    source = "import geneva_drive as gd\nclass Bad(gd.Workflow):\n    a = gd.step(5)\n"

    result = run("list", "--app", write_app("wrong_app", source))

    assert result.exit_code == 2
    assert result.stderr.startswith("geneva: ")
    assert len(result.stderr.splitlines()) == 1
