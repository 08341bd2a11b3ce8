"""The servers that the tests run on are found, started, refused and cleared away."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from tests.databases import ONE_SERVER
from tests.private_servers import crashing_server, private_server, why_not
from tests.servers import (
    KINDS,
    POSTGRESQL,
    Kind,
    Missing,
    NobodyAnswers,
    NoPgBouncer,
    Server,
    drop_remains,
    find,
    from_environment,
)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def server(kind: Kind) -> Server:
    found = from_environment(kind)
    if found is None:
        pytest.skip(f"No {kind.label} server.")
    return found


@pytest.mark.scenario
def test_a_private_server_answers_until_its_block_ends(kind: Kind) -> None:
    with private_server(kind.cook) as url:
        if url is None:
            pytest.skip(f"The programs of {kind.label} are not installed.")
        assert why_not(url) is None

    assert why_not(url) is not None


@pytest.mark.scenario
def test_a_server_that_crashed_and_started_again_has_what_it_committed(kind: Kind) -> None:
    with crashing_server(kind.cook) as server:
        if server is None:
            pytest.skip(f"The programs of {kind.label} are not installed.")
        Server(kind, server.url, "started for this test").create("kept")

        server.crash()
        reason = why_not(server.url)
        server.start()

        assert reason is not None
        assert "kept" in Server(kind, server.url, "started again").databases()


def test_a_given_server_that_does_not_answer_is_refused(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(kind.variable, f"{kind.driver}://nobody@127.0.0.1:1/")

    with ExitStack() as stack, pytest.raises(NobodyAnswers) as refusal:
        find(kind, stack)

    assert refusal.value.variable == kind.variable


def test_a_given_server_must_be_a_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENEVA_TEST_POSTGRESQL_URL", "localhost")

    with ExitStack() as stack, pytest.raises(NobodyAnswers) as refusal:
        find(POSTGRESQL, stack)

    assert str(refusal.value) == (
        "GENEVA_TEST_POSTGRESQL_URL names a server that cannot be used: "
        "it is not a SQLAlchemy URL."
        " Correct it, or unset it to let the tests look for a server."
    )


def test_a_missing_server_says_what_was_tried() -> None:
    missing = Missing(POSTGRESQL, ("nobody answers at port 5432", "its programs are not installed"))

    assert str(missing) == (
        "No PostgreSQL server to test on: "
        "nobody answers at port 5432; its programs are not installed. "
        "Start one, or name one in GENEVA_TEST_POSTGRESQL_URL."
    )


def test_a_missing_pgbouncer_says_what_was_tried() -> None:
    missing = NoPgBouncer(("it is not installed", "only root on Debian can install it"))

    assert str(missing) == (
        "No PgBouncer to test through: "
        "it is not installed; only root on Debian can install it. Install pgbouncer."
    )


def test_an_empty_database_has_no_tables(empty_database_url: str, database: str) -> None:
    engine = create_engine(empty_database_url, poolclass=NullPool)

    assert engine.dialect.name == database
    assert inspect(engine).get_table_names() == []


def test_databases_of_a_killed_run_are_dropped(server: Server) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as killed:
        pass
    name = f"geneva_test_{killed.pid}_gw0_shared"
    server.create(name)

    drop_remains(server)

    assert name not in server.databases()


def test_the_table_of_databases_names_modules_that_exist() -> None:
    tests = Path(__file__).parent

    assert [name for name in ONE_SERVER if not (tests / name).is_file()] == []
