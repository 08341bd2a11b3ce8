"""Our keys are like those of the user's own tables: bigint, or UUIDs where most are UUIDs."""

from __future__ import annotations

from uuid import UUID

import pytest
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.storage.schema.keys import KeyType, detect, new_uuid
from geneva_drive.storage.schema.revisions import HEAD
from geneva_drive.testing import drain, speedrun
from tests.storage.conftest import OpenDrive

OWN_TYPE = {"sqlite": "CHAR(32)", "postgresql": "UUID", "mysql": "BINARY(16)"}
COLLATED = {
    "sqlite": "VARCHAR(36) COLLATE NOCASE",
    "postgresql": 'VARCHAR(36) COLLATE "C"',
    "mysql": "VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin",
}


def create_tables(drive: gd.Drive, **key_types: str) -> None:
    with drive.engine.begin() as connection:
        for name, kind in key_types.items():
            connection.execute(text(f"CREATE TABLE {name} (id {kind} PRIMARY KEY)"))


def detected(drive: gd.Drive) -> KeyType:
    """Detect what a first migration would make the tables with."""
    with drive.engine.connect() as connection:
        return detect(connection, "geneva_drive_")


def test_an_empty_schema_gets_bigint_keys(empty_database_url: str, open_drive: OpenDrive) -> None:
    drive = open_drive(empty_database_url)

    drive.migrate()

    assert drive.store.key_type is KeyType.BIGINT


@pytest.mark.parametrize(
    "kind", ["CHAR(36)", "VARCHAR(36)", "CHAR(32)", OWN_TYPE, COLLATED], ids=str
)
def test_a_schema_of_uuids_is_detected(
    kind: str | dict[str, str], database: str, empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    create_tables(drive, users=kind if isinstance(kind, str) else kind[database])

    assert detected(drive) is KeyType.UUID


@pytest.mark.parametrize(
    ("key_types", "expected"),
    [
        ({"a": "INTEGER"}, KeyType.BIGINT),
        ({"a": "VARCHAR(40)"}, KeyType.BIGINT),
        ({"a": "CHAR(36)", "b": "INTEGER"}, KeyType.BIGINT),
        ({"a": "CHAR(36)", "b": "CHAR(36)", "c": "INTEGER"}, KeyType.UUID),
        ({"a": "CHAR(36)", "b": "INTEGER", "c": "INTEGER"}, KeyType.BIGINT),
        ({"a": "CHAR(36)", "alembic_version": "INTEGER"}, KeyType.UUID),
    ],
    ids=str,
)
def test_the_majority_of_the_users_tables_decides(
    key_types: dict[str, str], expected: KeyType, empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    create_tables(drive, **key_types)

    assert detected(drive) is expected


def test_tables_without_a_key_or_with_two_columns_do_not_count(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    create_tables(drive, users="CHAR(36)")
    with drive.engine.begin() as connection:
        connection.execute(text("CREATE TABLE notes (body VARCHAR(9))"))
        connection.execute(text("CREATE TABLE pairs (a INTEGER, b INTEGER, PRIMARY KEY (a, b))"))

    assert detected(drive) is KeyType.UUID


def test_the_choice_of_the_first_migration_stands(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(empty_database_url)
    create_tables(drive, users="CHAR(36)")
    drive.migrate()
    create_tables(drive, a="INTEGER", b="INTEGER", c="INTEGER")

    assert drive.migrate() == (HEAD, HEAD)

    assert drive.store.key_type is KeyType.UUID


def test_a_workflow_with_a_uuid_runs_and_is_found_by_it_or_its_text(uuid_drive: gd.Drive) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

        @gd.step
        def leave(self) -> None: ...

    workflow = speedrun(Greeting.using(uuid_drive).create())

    assert isinstance(workflow.id, UUID)
    assert workflow.id.version == 7
    assert workflow.state == "finished"
    assert [e.step_name for e in workflow.step_executions] == ["greet", "leave"]
    assert Greeting.using(uuid_drive).find(workflow.id).id == workflow.id
    assert Greeting.using(uuid_drive).find(str(workflow.id)).id == workflow.id
    assert Greeting.using(uuid_drive).find(workflow.id.hex).id == workflow.id


@pytest.mark.parametrize("unknown", [1, "1", "nonsense", UUID(int=0)], ids=repr)
def test_an_unknown_id_among_uuids_is_not_found(unknown: object, uuid_drive: gd.Drive) -> None:
    with pytest.raises(gd.errors.NotFound) as refusal:
        gd.Workflow.using(uuid_drive).find(unknown)

    assert str(refusal.value) == (
        f"There is no workflow with id {unknown!r}. `geneva list` shows all workflows."
    )


def test_workflows_with_uuids_are_listed_and_run_in_order_of_creation(
    uuid_drive: gd.Drive,
) -> None:
    ran: list[UUID] = []

    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None:
            ran.append(self.id)

    created = [Greeting.using(uuid_drive).create().id for _ in range(20)]
    listed = [workflow.id for workflow in Greeting.using(uuid_drive).ready()]
    drain(uuid_drive)

    assert listed == created
    assert ran == created


def test_uuids_made_in_one_millisecond_are_in_order_and_differ() -> None:
    made = [new_uuid() for _ in range(2000)]

    assert made == sorted(set(made))
    assert {(each.version, each.variant) for each in made} == {(7, "specified in RFC 4122")}


def test_a_workflow_with_a_uuid_keeps_audit_entries(uuid_drive: gd.Drive) -> None:
    class Greeting(gd.Workflow):
        @gd.step(wait=60)
        def greet(self) -> None: ...

    workflow = Greeting.using(uuid_drive).create()

    workflow.pause(actor="ann")
    workflow.resume(actor="bob")

    assert [(e.command, e.actor) for e in workflow.audit_entries] == [
        ("pause", "ann"),
        ("resume", "bob"),
    ]
