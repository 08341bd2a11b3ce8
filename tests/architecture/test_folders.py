from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath

from tests.architecture.reading import modules

# One file per command, and per revision of the tables, however many there are.
_UNBOUNDED = ("cli/commands", "storage/schema/migrations/versions")
_MOST = 15


def test_no_folder_has_more_than_15_modules() -> None:
    folders = Counter(
        str(PurePosixPath(path).parent) for path, _ in modules() if not path.endswith("__init__.py")
    )

    crowded = {
        folder: count
        for folder, count in folders.items()
        if count > _MOST and not folder.endswith(_UNBOUNDED)
    }
    assert crowded == {}
