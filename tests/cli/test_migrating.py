"""`geneva migrate`, on every database."""

from __future__ import annotations

import json

import geneva_drive as gd
from geneva_drive.storage.schema.revisions import HEAD
from tests.cli.conftest import Run


def _shown(url: str) -> str:
    return gd.Drive(url).database_url


def test_migrate_creates_the_tables_and_says_so(empty_database_url: str, run: Run) -> None:
    result = run("migrate", "--database", empty_database_url)

    url = _shown(empty_database_url)
    assert (result.exit_code, result.stdout) == (
        0,
        f"{url} was migrated to revision {HEAD}.\n",
    )
    assert gd.current_drive().workflows(gd.Workflow).query().count() == 0


def test_migrating_again_changes_nothing_and_says_so(geneva: gd.Drive, run: Run) -> None:
    result = run("migrate")

    assert (result.exit_code, result.stdout) == (
        0,
        f"{geneva.database_url} is up to date at revision {HEAD}.\n",
    )


def test_migrate_as_json_gives_both_revisions(empty_database_url: str, run: Run) -> None:
    result = run("migrate", "--json", "--database", empty_database_url)

    assert json.loads(result.stdout) == {
        "database": _shown(empty_database_url),
        "from": None,
        "to": HEAD,
    }


def test_migrate_sql_prints_the_statements_and_changes_nothing(
    empty_database_url: str, run: Run
) -> None:
    printed = run("migrate", "--sql", "--database", empty_database_url)
    looked = run("list", "--database", empty_database_url)

    assert printed.exit_code == 0
    assert "CREATE TABLE geneva_drive_workflows" in printed.stdout
    assert looked.exit_code == 5


def test_migrate_sql_as_json_holds_the_statements(empty_database_url: str, run: Run) -> None:
    body = json.loads(run("migrate", "--sql", "--json", "--database", empty_database_url).stdout)

    assert body["database"] == _shown(empty_database_url)
    assert "CREATE TABLE geneva_drive_step_executions" in body["sql"]


def test_migrate_sql_of_a_migrated_database_is_only_a_comment(geneva: gd.Drive, run: Run) -> None:
    result = run("migrate", "--sql")

    assert result.stdout == f"-- {geneva.database_url} is up to date.\n"
