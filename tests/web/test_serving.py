"""`geneva serve` as a process: its first run, and the examples that the seeds print."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

import geneva_drive as gd
from geneva_drive.cli.main import cli
from geneva_drive.cli.processes.listener import listen
from geneva_drive.testing import drain
from tests.web.serving import curl, geneva, serving
from tests.web.shop import Flaky, Parcel, Refund

APP = "tests.web.shop"
IS_JSON = ("-H", "Content-Type: application/json")


@pytest.fixture
def drive(migrated_sqlite_url: str) -> Iterator[gd.Drive]:
    drive = gd.Drive(migrated_sqlite_url)
    yield drive
    drive.close()


def test_without_a_key_it_stays_on_loopback_and_prints_the_command_that_makes_one(
    migrated_sqlite_url: str,
) -> None:
    place = {"GENEVA_DATABASE_URL": migrated_sqlite_url}

    with serving("--host", "0.0.0.0", **place) as (url, printed):
        before = curl(f"{url}/api/v1/executions")
        secret = geneva(*["keys", "create", "ann", "--role", "admin"], **place)[-1].split()[-1]
        after = curl(f"{url}/api/v1/executions", "-H", f"Authorization: Bearer {secret}")

    assert url.startswith("http://127.0.0.1:")
    assert "    geneva keys create NAME --role admin" in printed
    assert (before[0], before[1]["code"]) == (401, "unauthorized")
    assert after == (200, {"items": [], "next_cursor": None})


def test_the_examples_of_the_seeds_work_as_printed(drive: gd.Drive) -> None:
    flaky = Flaky.using(drive).create()
    parcel = Parcel.using(drive).create(context={"address": "Rue 1"})
    refund = Refund.using(drive).create(context={"amount": 5, "customer": "Eve"})
    drain(drive)
    key = drive.keys.create("ann", roles=["operator"])
    as_ann = ("-H", f"Authorization: Bearer {key.secret}")

    with serving(GENEVA_APP=APP, GENEVA_DATABASE_URL=drive.database_url) as (url, _):
        api = f"{url}/api/v1/executions"
        # Batch processing: "preserve checkpoint", then "reset checkpoint".
        step = f"{api}/{flaky.id}/steps/fetch"
        retried = curl(
            step, "-X", "PATCH", *as_ann, *IS_JSON, "-d", '{"action_type": "reset_for_retry"}'
        )
        drain(drive)
        restarted = curl(
            step,
            *("-X", "PATCH", *as_ann, *IS_JSON),
            *("-d", '{"action_type": "reset_for_retry", "reset_checkpoint": true}'),
        )
        # Pause and resume: status, pause, resume with reason and metadata, resume options.
        paused = curl(f"{api}/{parcel.id}/pause", "-X", "POST", *as_ann)
        status = curl(f"{api}/{parcel.id}/status", *as_ann)
        resumed = curl(
            f"{api}/{parcel.id}/resume",
            *("-X", "POST", *as_ann, *IS_JSON),
            *("-d", '{ "reason": "Back again.", "metadata": {"weight": 3} }'),
        )
        options = curl(f"{api}/{refund.id}/resume-options", *as_ann)

    assert (retried[0], retried[1]["attempt_number"]) == (200, 2)
    assert (restarted[0], restarted[1]["attempt_number"]) == (200, 3)
    assert (paused[0], status[1]["state"], status[1]["next_step_name"]) == (200, "paused", "ship")
    assert (resumed[0], resumed[1]["context"]["weight"]) == (200, 3)
    assert options[1]["actions"][:3] == ["approve", "reject", "escalate"]


@pytest.mark.parametrize("prefix", ["", "/geneva"], ids=["removed by the proxy", "left there"])
def test_links_are_below_the_path_of_public_url(migrated_sqlite_url: str, prefix: str) -> None:
    place = {
        "GENEVA_DATABASE_URL": migrated_sqlite_url,
        "GENEVA_PUBLIC_URL": "https://shop.example/geneva",
    }

    with serving(**place) as (url, _):
        with urlopen(f"{url}{prefix}/login") as answer:
            page = answer.read().decode()
        style = re.search(r'href="(/geneva/static/[^"]+\.css)"', page)
        assert style is not None
        with urlopen(url + style[1].removeprefix("/geneva" if not prefix else "")) as answer:
            is_style = answer.headers["content-type"].startswith("text/css")
        refused = curl(f"{url}{prefix}/api/v1/executions")

    assert is_style
    assert (refused[0], refused[1]["code"]) == (401, "unauthorized")


def test_a_port_that_another_program_has_is_named(migrated_sqlite_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(cli, ["--database", migrated_sqlite_url, "serve", "--port", port])

    assert done.exit_code == 2
    assert done.stderr == (
        f"geneva: geneva serve cannot listen at 127.0.0.1, port {port}: Address already in use. "
        f"Choose others with --host and --port.\n"
    )


def test_answers_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
