"""The example sends mails with links, and the links decide."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.testing import drain, time_travel
from tests.examples.mail_server import MailServer, mail_server

PROGRAM = Path(__file__).parents[2] / "examples" / "approval_mail.py"
_COMMAND = [sys.executable, "-W", "error", str(PROGRAM)]
QUESTION = "Pay 80 euros back for order A-1001?"


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


@pytest.fixture
def example(server: MailServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The names of the example, whose mails go to the server of the test."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with registry.isolated():
        yield runpy.run_path(str(PROGRAM))


@pytest.fixture
def drive(geneva: gd.Drive) -> Iterator[gd.Drive]:
    opened = gd.Drive(geneva.engine, public_url="https://shop.example/geneva")
    yield opened
    opened.close()


@pytest.mark.scenario
def test_the_program_mails_a_link_by_which_the_manager_decides_once(
    server: MailServer, tmp_path: Path
) -> None:
    with _started(server, tmp_path) as program:
        mail = server.next_mail()
        answer = _decided(server, tmp_path, _link_in(mail), "approve")
        told, _ = program.communicate(timeout=60)
    again = _decided(server, tmp_path, _link_in(mail), "reject")

    assert (mail["To"], mail["Subject"]) == ("mary@shop.example", QUESTION)
    assert answer.stdout == f"mary@shop.example: {QUESTION} approve.\n"
    assert told.splitlines() == [
        f"A mail to mary@shop.example asks: {QUESTION}",
        "mary@shop.example has decided: approve.",
        "80 euros are paid back.",
        "The refund is finished.",
    ]
    assert (again.returncode, again.stderr) == (
        1,
        "The link to approval 1 cannot be used: the request is approved.\n",
    )


def test_after_the_deadline_the_director_gets_a_mail_with_another_link(
    drive: gd.Drive, server: MailServer, example: dict[str, Any]
) -> None:
    drive.events.subscribe(lambda event: example["notify"](drive, event))
    refund = example["Refund"].using(drive).create(context={"order": "A-1001", "amount": 80})
    drain(drive)
    first = server.next_mail()

    with time_travel(timedelta(minutes=10), drive):
        drain(drive)
        second = server.next_mail()
        example["decide"](drive, _link_in(second), "approve")
        drain(drive)

    assert second["To"] == "dora@shop.example"
    assert _link_in(second) != _link_in(first)
    assert refund.reload().state == "finished"
    [approval] = drive.approvals.of_workflow(refund.id)
    assert approval.decided_by == "dora@shop.example"
    assert server.inbox.empty()


def test_without_a_mail_server_the_mail_is_printed(
    example: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    mail = EmailMessage()
    mail.set_content("Decide here.")
    example["send"].__globals__["SMTP_PORT"] = _unused_port()

    example["send"](mail)

    told = capsys.readouterr().out
    assert "The mail would say:\nDecide here.\n" in told


def _link_in(mail: EmailMessage) -> str:
    body = mail.get_content()
    found = re.search(r"Decide here: (https?://\S+/a/\S+)", body)
    assert found is not None, body
    return found[1]


@contextmanager
def _started(server: MailServer, folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        _COMMAND, env=_environment(server, folder), stdout=subprocess.PIPE, text=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def _decided(
    server: MailServer, folder: Path, link: str, choice: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*_COMMAND, link, choice],
        env=_environment(server, folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _environment(server: MailServer, folder: Path) -> dict[str, str]:
    url = f"sqlite:///{folder / 'refunds.db'}"
    return {**os.environ, **server.environment, "GENEVA_DATABASE_URL": url}


def _unused_port() -> int:
    with MailServer() as closed:
        return closed.port
