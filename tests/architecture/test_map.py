"""`docs/architecture.md` is the map of the code: what it names is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.architecture.reading import SOURCE

ROOT = SOURCE.parents[1]
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED_PATH = re.compile(r"`([\w./<>{},-]+(?:/|\.(?:py|html|js)|/\w+))`")
ALTERNATIVES = re.compile(r"\{([^}]*)\}")


def test_every_path_on_the_map_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    lines = CODE_BLOCK.sub("", page).splitlines()

    missing = [path for line in lines for path in _missing(line)]

    assert missing == []
    assert sum(len(NAMED_PATH.findall(line)) for line in lines) > 100


def _missing(line: str) -> Iterator[str]:
    """Yield what does not exist; a path may begin in a folder that the line named before."""
    folders = [SOURCE, ROOT]
    for named in NAMED_PATH.findall(line):
        for path in _spelled_out(named):
            found = next((at / path for at in folders if (at / path).exists()), None)
            if found is None:
                yield path
            else:
                folders.append(found if found.is_dir() else found.parent)


def _spelled_out(named: str) -> list[str]:
    named = named.replace("<database>", "{postgresql,mysql,sqlite}")
    choice = ALTERNATIVES.search(named)
    if choice is None:
        return [named]
    return [named.replace(choice.group(), each) for each in choice.group(1).split(",")]
