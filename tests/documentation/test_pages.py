"""The README and the pages in docs/ are executed, block by block, as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def code_of(page: str) -> str:
    return "\n".join(BLOCK.findall((ROOT / page).read_text()))


@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page)])
def test_the_examples_of_a_page_run_as_printed(page: str, tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text(code_of(page))

    run = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    # Steps that fail on purpose are lines in the log, which begin with their ids.
    noise = [line for line in run.stderr.splitlines() if not line.startswith("[")]
    assert (run.returncode, noise) == (0, [])


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    targets = LINK.findall((ROOT / page).read_text())

    assert [target for target in targets if not (folder / target).exists()] == []
