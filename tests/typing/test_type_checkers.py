"""What users write has the types that the documentation promises, in mypy and in pyright."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.py"))
ROOT = HERE.parents[1]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_make_check_has_mypy_look_at_every_case() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]

    folders = [ROOT / folder for folder in settings["files"]]
    assert [case for case in CASES if not any(map(case.is_relative_to, folders))] == []
    assert settings["strict"]
    assert settings.keys().isdisjoint({"exclude", "overrides"})


# basedpyright is pyright with its checker and Node.js in the wheels; PyPI's own pyright fetches
# them from npm when it first runs. Its strict mode has pyright's rules and no further ones.
def test_pyright_agrees_with_every_case() -> None:
    report = json.loads(
        run(
            *("basedpyright", "--project", str(HERE)),
            *("--pythonpath", sys.executable, "--outputjson"),
        )
    )

    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == len(CASES)
