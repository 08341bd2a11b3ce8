"""Every kind of error has its exit code and one line on stderr."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

import geneva_drive as gd
from geneva_drive.cli import main as program
from geneva_drive.cli.exit_codes import MEANINGS, ExitCode, code_for
from geneva_drive.definition import registry
from geneva_drive.errors import AlreadyRunning, ClaimLost
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run, WriteApp

STATES = "'ready', 'performing', 'paused', 'finished', 'canceled'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["dance"], "No such command 'dance'. See `geneva --help`.", id="command"),
        pytest.param(
            ["retry", "1"],
            "No such command 'retry'. Did you mean 'reattempt'? See `geneva --help`.",
            id="command-of-other-programs",
        ),
        pytest.param(
            ["wathc", "1"],
            "No such command 'wathc'. Did you mean 'watch'? See `geneva --help`.",
            id="command-misspelt",
        ),
        pytest.param(
            ["--json", "list"],
            "--json goes after the command, as in `geneva list --json`. See `geneva --help`.",
            id="json-before-the-command",
        ),
        pytest.param(
            ["list", "--limitt", "3"],
            "No such option '--limitt'. Did you mean '--limit'? See `geneva list --help`.",
            id="option-misspelt",
        ),
        pytest.param(["show"], "Missing argument 'ID'. See `geneva show --help`.", id="argument"),
        pytest.param(
            ["list", "--limit", "0"],
            "Invalid value for '--limit': 0 is not in the range x>=1. See `geneva list --help`.",
            id="limit",
        ),
        pytest.param(
            ["list", "--state", "done"],
            f"Invalid value for '--state': 'done' is not one of {STATES}. "
            f"See `geneva list --help`.",
            id="state",
        ),
        pytest.param(
            ["list", "--hero", "User"],
            "Invalid value for '--hero': 'User' must have the form TYPE/ID, such as User/42. "
            "See `geneva list --help`.",
            id="hero",
        ),
        pytest.param(
            ["list", "--since", "yesterday"],
            "Invalid value for '--since': 'yesterday' is neither a duration such as 24h or 7d nor "
            "a moment such as 2026-01-31T12:00, in UTC. See `geneva list --help`.",
            id="since",
        ),
        pytest.param(
            ["list", "--since", "7"],
            "Invalid value for '--since': '7' has no unit: write 7d for days, 7h for hours. "
            "See `geneva list --help`.",
            id="since-without-a-unit",
        ),
        pytest.param(
            ["list", "--hero", "User/\udce9"],
            "The argument 'User/\\udce9' cannot be decoded. Check the encoding of the terminal or "
            "script that wrote it. See `geneva --help`.",
            id="argument-that-cannot-be-decoded",
        ),
        pytest.param(
            ["--database", "sqlite:///\udcff.db", "list"],
            "The argument 'sqlite:///\\udcff.db' cannot be decoded. Check the encoding of the "
            "terminal or script that wrote it. See `geneva --help`.",
            id="url-that-cannot-be-decoded",
        ),
        pytest.param(
            ["resume", "1", "--data", "{"],
            "Invalid value for '--data': '{' is not JSON: Expecting property name enclosed in "
            "double quotes: line 1 column 2 (char 1). See `geneva resume --help`.",
            id="data-that-is-not-json",
        ),
        pytest.param(
            ["resume", "1", "--data", "[1]"],
            "Invalid value for '--data': '[1]' is not a JSON object, such as '{\"key\": 1}'. "
            "See `geneva resume --help`.",
            id="data-that-is-no-object",
        ),
        pytest.param(
            ["resume", "1", "--data", "{}", "--at", "x"],
            "--data and --at cannot be used together. See `geneva resume --help`.",
            id="data-and-at",
        ),
        pytest.param(
            ["rewind", "1", "only", "--to", '{"$type": "date", "value": "tomorrow"}'],
            'Invalid value for \'--to\': \'{"$type": "date", "value": "tomorrow"}\' cannot be '
            "read as typed JSON: ValueError: Invalid isoformat string: 'tomorrow'. "
            "See `geneva rewind --help`.",
            id="cursor-that-cannot-be-read",
        ),
        pytest.param(
            ["rewind", "1", "only", "--to", '{"$type": "shop.Money", "value": 5}'],
            'Invalid value for \'--to\': \'{"$type": "shop.Money", "value": 5}\' has an unknown '
            "type: name the module that defines it with --app. "
            "See `geneva rewind --help`.",
            id="cursor-of-an-unknown-type",
        ),
        pytest.param(
            ["rewind", "1", "only", "--to", "[1,"],
            "Invalid value for '--to': '[1,' starts like JSON but is not: Expecting value: line 1 "
            'column 4 (char 3). To pass it as text, quote it: "[1,". '
            "See `geneva rewind --help`.",
            id="cursor-that-begins-like-json",
        ),
        pytest.param(
            ["prune"],
            "Pass --older-than, such as 90d, or set GENEVA_RETENTION. See `geneva prune --help`.",
            id="prune-without-a-span",
        ),
        pytest.param(
            ["prune", "--older-than", "90"],
            "Invalid value for '--older-than': '90' has no unit: write 90d for days, 90h for "
            "hours. See `geneva prune --help`.",
            id="span-without-a-unit",
        ),
        pytest.param(
            ["prune", "--older-than", "-1d"],
            "Invalid value for '--older-than': '-1d' is not a duration such as 90d or 12h; the "
            "units are ms, s, m, h and d. See `geneva prune --help`.",
            id="negative-span",
        ),
        pytest.param(
            ["prune", "--older-than", "1w"],
            "Invalid value for '--older-than': '1w' is not a duration such as 90d or 12h; the "
            "units are ms, s, m, h and d. See `geneva prune --help`.",
            id="span-of-an-unknown-unit",
        ),
        pytest.param(
            ["worker", "--queues", "a,,b"],
            "Invalid value for '--queues': 'a,,b' has an empty name: write a,b. "
            "See `geneva worker --help`.",
            id="queues",
        ),
        pytest.param(
            ["pause", "1", "--actor", "x" * 256],
            "The actor must be at most 255 characters long, got 256.",
            id="actor",
        ),
        pytest.param(
            ["list", "--database", "nonsense"],
            "'nonsense' is not a database URL. Write it as sqlite:///file.db, "
            "postgresql://user:password@host/name or mysql://user:password@host/name.",
            id="database",
        ),
    ],
)
def test_wrong_usage_and_input_exit_with_2(
    geneva: gd.Drive, run: Run, arguments: list[str], message: str
) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    Short.create()

    result = run(*arguments)

    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"geneva: {message}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([command, "99", *more], id=command)
        for command, *more in (
            ["show"],
            ["why"],
            ["watch"],
            ["history"],
            ["pause"],
            ["resume"],
            ["cancel"],
            ["skip"],
            ["reattempt", "only"],
            ["rewind", "only"],
        )
    ],
)
def test_a_workflow_that_is_not_there_exits_with_3(
    geneva: gd.Drive, run: Run, arguments: list[str]
) -> None:
    result = run(*arguments)

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "geneva: There is no workflow with id '99'. `geneva list` shows all workflows.\n"
    )


def test_a_step_that_is_not_there_exits_with_3(geneva: gd.Drive, run: Run) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    Short.create()

    result = run("resume", "1", "--at", "missing")

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: Workflow 'Short' has no step 'missing'. Its steps are: only.\n",
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["skip", "1"], id="skip"),
        pytest.param(["resume", "1"], id="resume-of-a-failed-step"),
        pytest.param(["resume", "1", "--at", "only"], id="resume-at"),
        pytest.param(["reattempt", "1", "only"], id="reattempt"),
        pytest.param(["rewind", "1", "only"], id="rewind"),
    ],
)
def test_a_class_that_is_not_imported_exits_with_3_and_points_to_app(
    geneva: gd.Drive, run: Run, arguments: list[str]
) -> None:
    with registry.isolated():

        class Gone(gd.Workflow):
            @gd.step
            def only(self) -> None:
                raise ValueError

        speedrun(Gone.create())

    result = run(*arguments)

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: No workflow class of type 'Gone' is imported in this process. Import its module "
        "first, or name it with --app or GENEVA_APP.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["pause", "1"], "Cannot pause a finished workflow.", id="pause"),
        pytest.param(["resume", "1"], "Cannot resume a finished workflow.", id="resume"),
        pytest.param(["cancel", "1"], "Cannot cancel a finished workflow.", id="cancel"),
        pytest.param(["skip", "1"], "Cannot skip a step of a finished workflow.", id="skip"),
        pytest.param(
            ["reattempt", "1", "only"],
            "Cannot reattempt a step of a finished workflow.",
            id="reattempt",
        ),
        pytest.param(
            ["rewind", "1", "only"], "Cannot rewind a step of a finished workflow.", id="rewind"
        ),
    ],
)
def test_a_state_that_does_not_allow_it_exits_with_4(
    geneva: gd.Drive, run: Run, arguments: list[str], message: str
) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    speedrun(Short.create())

    result = run(*arguments)

    assert (result.exit_code, result.stdout, result.stderr) == (4, "", f"geneva: {message}\n")


_CORRECT = "or correct the URL: --database, GENEVA_DATABASE_URL, or your app's own."


@pytest.mark.parametrize("command", ["migrate", "list"])
def test_a_database_in_a_folder_that_is_not_there_exits_with_5(
    tmp_path: Path, run: Run, command: str
) -> None:
    folder = tmp_path / "gone"

    result = run(command, "--database", f"sqlite:///{folder}/x.db")

    assert (result.exit_code, result.stderr) == (
        5,
        f"geneva: The database at sqlite:///{folder}/x.db cannot be opened: there is no folder "
        f"{str(folder)!r}. Create it, {_CORRECT}\n",
    )


def test_a_file_that_is_not_a_database_exits_with_5(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are notes, and no pages of a database.\n" * 100)

    result = run("list", "--database", f"sqlite:///{file}")

    assert (result.exit_code, result.stderr) == (
        5,
        f"geneva: The database at sqlite:///{file} cannot be opened: the file is not a database. "
        f"Name another file, {_CORRECT}\n",
    )


def test_a_database_without_tables_exits_with_5(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty.db").touch()
    url = f"sqlite:///{tmp_path / 'empty.db'}"

    result = run("list", "--database", url)

    assert (result.exit_code, result.stderr) == (
        5,
        f"geneva: The database at {url} has no GenevaDrive tables yet, or older ones. "
        f"Run `geneva migrate` with the same --app or --database, or call drive.migrate().\n",
    )


def test_a_database_that_is_not_there_exits_with_5_and_is_not_made(
    tmp_path: Path, run: Run
) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"

    result = run("list", "--database", url)

    assert (result.exit_code, result.stderr) == (
        5,
        f"geneva: There is no database at {url} yet. Create it with "
        f"`geneva migrate`, with the same --app or --database, or drive.migrate(); or name the "
        f"one you mean: --app package.module, --database URL, or GENEVA_DATABASE_URL.\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_does_not_answer_exits_with_5(run: Run) -> None:
    result = run("list", "--database", "mysql://nobody@127.0.0.1:1/nothing")

    assert result.exit_code == 5
    assert result.stderr.startswith("geneva: The database at mysql")
    assert " cannot be reached: " in result.stderr
    assert result.stderr.endswith(
        " and its address: --database, the app's own, or GENEVA_DATABASE_URL.\n"
    )


def test_what_the_database_refuses_for_reasons_of_its_own_exits_with_5(
    geneva: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("SELECT 1", {}, Exception("permission denied\nfor table x"))

    monkeypatch.setattr(geneva, "migrate", refuse)

    result = run("migrate")

    assert (result.exit_code, result.stderr) == (
        5,
        "geneva: The database refused: permission denied for table x.\n",
    )


def test_ctrl_c_exits_with_130(geneva: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(geneva, "migrate", interrupt)

    result = run("migrate")

    assert result.exit_code == 130


@pytest.mark.parametrize("kind", [AlreadyRunning, ClaimLost])
def test_every_conflict_has_the_same_code(kind: type[Exception]) -> None:
    assert code_for(kind.__new__(kind)) is ExitCode.CONFLICT


def test_every_exit_code_is_explained_in_the_help(run: Run) -> None:
    result = run("--help")

    assert set(MEANINGS) == set(ExitCode)
    assert result.stdout.partition("Exit codes:\n")[2] == (
        "  0    done\n"
        "  1    unexpected error; GENEVA_DEBUG=1 shows the traceback\n"
        "  2    wrong usage, input, app or setting\n"
        "  3    no such workflow, step, class or approval\n"
        "  4    the state of the workflow or approval does not allow it\n"
        "  5    the database is down, not migrated or read-only\n"
        "  6    geneva doctor, check or validate found problems\n"
        "  7    this person may not do it\n"
        "  130  interrupted by Ctrl-C\n"
    )


def test_without_a_command_the_help_is_printed(run: Run) -> None:
    result = run()

    assert result.exit_code == 0
    assert result.stdout == run("--help").stdout


DIVIDING = """import geneva_drive as gd

class Dividing(gd.Drive):
    @property
    def environment(self):
        return 1 / 0

drive = Dividing("sqlite:///dividing.db")
"""


def test_an_app_that_raises_while_it_is_imported_is_the_apps_fault(
    write_app: WriteApp, run: Run
) -> None:
    app = write_app("raising_app", "\n1 / 0\n")

    result = run("list", "--app", app)

    assert result.exit_code == 2
    assert result.stderr == (
        "geneva: --app 'raising_app': module 'raising_app' cannot be imported. "
        "ZeroDivisionError: division by zero (raising_app.py, line 2).\n"
    )


def _call_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr("sys.argv", ["geneva", *arguments])
    program.main()


def test_the_unexpected_exits_with_1_and_says_where_it_happened(
    geneva: gd.Drive,
    write_app: WriteApp,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = write_app("dividing_app", DIVIDING)

    with pytest.raises(SystemExit) as exit_:
        _call_main(monkeypatch, "list", "--app", f"{app}:drive")

    assert exit_.value.code == 1
    assert capsys.readouterr().err == (
        "geneva: Unexpected error. ZeroDivisionError: division by zero "
        "(dividing_app.py, line 6). Set GENEVA_DEBUG=1 for the traceback.\n"
    )


def test_with_debug_the_unexpected_keeps_its_traceback(
    geneva: gd.Drive, write_app: WriteApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = write_app("dividing_app", DIVIDING)
    monkeypatch.setenv("GENEVA_DEBUG", "1")

    with pytest.raises(ZeroDivisionError):
        _call_main(monkeypatch, "list", "--app", f"{app}:drive")
