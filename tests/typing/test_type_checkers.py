"""What users write has the types that the documentation promises, in mypy and in pyright."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.py"))
ROOT = HERE.parents[1]


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_mypy_agrees_with_every_case() -> None:
    report = run("mypy", "--no-pretty", "--no-color-output", *map(str, CASES))

    files = "file" if len(CASES) == 1 else "files"
    assert report == f"Success: no issues found in {len(CASES)} source {files}\n"


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
