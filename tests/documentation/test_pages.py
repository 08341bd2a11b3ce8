"""The README and the pages in docs/ are executed, block by block. See also test_tutorial.py."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import geneva_drive as gd
from tests.documentation import prepared_process

ROOT = Path(__file__).parent.parent.parent
SOURCE = Path(*gd.__path__)
PAGES = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANY_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
DATABASE = re.compile(r"sqlite(?:\+\w+)?:///([\w{}]+\.db)")
LINK = re.compile(r"\]\(([^):#]*)(#[^)]*)?\)")
QUOTED_SECTION = re.compile(r"See '([^']+)' in (docs/[^ ]+\.md)")


Run = Callable[[Path], tuple[int, str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run the file `page.py` in a folder, in a process of its own."""
    command = [sys.executable, "-W", "error", prepared_process.__file__]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        order, answers = process.stdin, process.stdout

        def run_page(folder: Path) -> tuple[int, str]:
            order.write(f"{folder}\n")
            return int(answers.readline()), (folder / "errors").read_text()

        yield run_page


def code_of(page: str) -> str:
    return "\n".join(BLOCK.findall((ROOT / page).read_text()))


def headings_of(page: Path) -> list[str]:
    return HEADING.findall(ANY_BLOCK.sub("", page.read_text()))


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    return {
        "#" + re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        for heading in headings_of(page)
    }


def leads_somewhere(page: Path, target: str, anchor: str) -> bool:
    file = page.parent / target if target else page
    return file.exists() and (not anchor or anchor in anchors_of(file))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if code_of(page) and page != "docs/tutorial.md"]
)
def test_the_examples_of_a_page_run_as_printed(page: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text(code_of(page))

    exit_code, errors = run(tmp_path)

    # Steps that fail on purpose are lines in the log, which begin with their ids.
    noise = [line for line in errors.splitlines() if not line.startswith("[")]
    assert (exit_code, noise) == (0, [])


def test_two_pages_can_be_tried_in_one_folder() -> None:
    databases = [name for page in PAGES for name in set(DATABASE.findall(code_of(page)))]

    assert sorted(databases) == sorted(set(databases))


@pytest.mark.parametrize("page", PAGES)
def test_the_links_of_a_page_lead_somewhere(page: str) -> None:
    links = LINK.findall(ANY_BLOCK.sub("", (ROOT / page).read_text()))

    assert [link for link in links if not leads_somewhere(ROOT / page, *link)] == []


def test_the_sections_that_messages_name_exist() -> None:
    named = {
        section
        for path in SOURCE.rglob("*.py")
        for section in QUOTED_SECTION.findall(path.read_text())
    }

    assert named == {("Skipping items", "docs/iterating/errors.md")}
    assert [s for s, page in named if s not in headings_of(ROOT / page)] == []
