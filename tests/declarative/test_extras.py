"""Packages of extras that are not installed."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import geneva_drive as gd
from geneva_drive.cli.main import cli
from geneva_drive.declarative import expressions, input_schema
from geneva_drive.declarative.actions.webhook import WebhookRequest, send
from geneva_drive.errors import MissingExtra
from tests.declarative.documents import allow, check, parsed, setting

WEBHOOK = WebhookRequest(
    url="https://shop.example", method="POST", body={}, headers={}, message_id="m"
)
SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture(autouse=True)
def _nothing_compiled() -> None:
    """What was compiled before needs no package."""
    for cached in (expressions.compile_path, expressions.compile_pattern):
        cached.cache_clear()


def sent(secret: str | None = None) -> int:
    return send(WEBHOOK, secret=secret, allowed_hosts=(), now=datetime.now(UTC))


@pytest.mark.parametrize(
    ("package", "extra", "use"),
    [
        ("jmespath", "json", lambda: parsed(setting("a", "x", "{{total}}"))),
        ("re2", "json", lambda: parsed(check("a", "x", "regex", "a"))),
        ("jsonschema_rs", "json", lambda: parsed(allow(), input={"type": "object"})),
        ("httpx", "json", sent),
        ("standardwebhooks", "json", lambda: sent(SECRET)),
        ("apprise", "notify", lambda: gd.AppriseNotifier({"*": ["json://localhost"]})),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    package: str, extra: str, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingExtra) as caught:
        use()

    assert str(caught.value) == (
        f"The package {package!r} is not installed. Run: pip install 'geneva-drive[{extra}]'."
    )


def test_the_command_line_says_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jmespath", None)
    example = Path(__file__).parents[2] / "examples" / "order_approval.json"

    result = CliRunner().invoke(cli, ["validate", str(example)])

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: The package 'jmespath' is not installed. Run: pip install 'geneva-drive[json]'.\n",
    )


def test_a_document_without_expressions_needs_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jmespath", "re2", "jsonschema_rs", "httpx", "standardwebhooks"):
        monkeypatch.setitem(sys.modules, package, None)

    document = parsed(allow())
    input_schema.check_input(document, {})

    assert [step.id for step in document.all_steps()] == ["end"]
