"""The curl lines of the REST guide are run against a real server, and answered as printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import geneva_drive as gd
from tests.web.serving import PROGRAM, geneva, serving

PAGE = (Path(__file__).parents[2] / "docs" / "rest.md").read_text()
APP = re.search(r"^```python\n(# shop\.py\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = re.findall(
    r"^```bash\n(.*?)^```\n\n^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)


@contextmanager
def working(**environment: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "worker"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def secret_of(name: str, *roles: str, **environment: str) -> str:
    options = [word for role in roles for word in ("--role", role)]
    created = json.loads("".join(geneva("keys", "create", name, *options, "--json", **environment)))
    return str(created["secret"])


def run(lines: str, environment: dict[str, str]) -> Any:
    """Return the last JSON that the lines printed."""
    done = subprocess.run(
        ["bash", "-c", lines], capture_output=True, text=True, check=True, env=environment
    )
    decoder, text, found = json.JSONDecoder(), done.stdout.strip(), None
    while text:
        found, end = decoder.raw_decode(text)
        text = text[end:].strip()
    return found


def differences(printed: Any, answered: Any, path: str = "$") -> list[str]:
    """Return where the answer lacks something that is printed."""
    if isinstance(printed, dict) and isinstance(answered, dict):
        return [
            found
            for key, value in printed.items()
            for found in differences(value, answered.get(key), f"{path}.{key}")
        ]
    if isinstance(printed, list) and isinstance(answered, list) and printed:
        pairs = zip(printed, answered, strict=False)
        return [found for one, other in pairs for found in differences(one, other, f"{path}[]")]
    return [] if printed == answered else [f"{path}: {printed!r} is printed, got {answered!r}"]


def test_the_examples_are_answered_as_printed(tmp_path: Path) -> None:
    assert APP is not None
    (tmp_path / "shop.py").write_text(APP[1].replace("rest.db", str(tmp_path / "rest.db")))
    place = {"GENEVA_APP": "shop", "PYTHONPATH": str(tmp_path)}
    geneva("migrate", **place)
    keys = {
        "BILLING": secret_of("billing", "operator", **place),
        "ANN": secret_of("ann", "approver", "sales_manager", **place),
    }
    drive = gd.Drive(f"sqlite:///{tmp_path / 'rest.db'}")

    wrong = []
    with serving(**place) as (url, _), working(**place):
        shell = {**os.environ, **keys, "API": f"{url}/api/v1"}
        for lines, printed in EXAMPLES:
            answer = run(lines, shell)
            wrong += differences(json.loads(printed), answer)
            if "Idempotency-Key" in lines:
                while not drive.approvals.pending().ids():
                    pass  # the worker asks; the test has a time limit
    drive.close()

    assert wrong == []
    assert len(EXAMPLES) == 8
