"""`geneva link`."""

from __future__ import annotations

import json

import pytest

import geneva_drive as gd
from tests.cli.conftest import Handle, Run


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch, geneva_database_url: str) -> None:
    """The setting `public_url`, given by the environment as for a program without an app."""
    monkeypatch.setenv("GENEVA_PUBLIC_URL", "https://shop.example/geneva")


def test_the_address_is_printed_alone_and_decides_for_its_person(
    published: None, refund: Handle, standing: gd.Drive, run: Run
) -> None:
    result = run("link", "1", "--for", "ann@example.org", "--expires-in", "2h")

    begin, _, token = result.stdout.strip().rpartition("/")
    assert (result.exit_code, begin) == (0, "https://shop.example/geneva/a")
    assert result.stderr == (
        "With this address, ann@example.org can decide approval 1 until 2026-01-02 05:04:05 UTC. "
        "Send it only to this person.\n"
    )
    assert standing.approvals.by_link(token).approve().decided_by == "ann@example.org"


def test_the_address_as_json_stands_beside_the_approval(
    published: None, refund: Handle, run: Run
) -> None:
    body = json.loads(run("link", "1", "--for", "ann", "--json").stdout)

    assert body["link"].startswith("https://shop.example/geneva/a/")
    assert (body["id"], body["state"]) == (1, "pending")
    assert [(entry["command"], entry["reason"]) for entry in body["history"]] == [
        ("link", "for ann")
    ]


def test_without_a_public_url_there_is_no_address(refund: Handle, run: Run) -> None:
    result = run("link", "1", "--for", "ann")

    assert (result.exit_code, result.stdout, result.stderr) == (
        2,
        "",
        "geneva: link() needs the setting public_url, the address under which people reach this "
        "installation, such as 'https://shop.example/geneva'.\n",
    )


def test_how_long_it_lasts_needs_a_unit(refund: Handle, run: Run) -> None:
    result = run("link", "1", "--for", "ann", "--expires-in", "5")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: Invalid value for '--expires-in': '5' has no unit: write 5d for days, 5h for "
        "hours. See `geneva link --help`.\n",
    )
