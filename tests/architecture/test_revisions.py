from __future__ import annotations

from alembic.config import Config
from alembic.script import ScriptDirectory

from geneva_drive.storage.schema import revisions
from tests.architecture.reading import SOURCE


def test_the_known_revisions_are_those_of_the_migration_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(SOURCE / "storage" / "schema" / "migrations"))
    config.set_main_option("path_separator", "os")
    scripts = list(ScriptDirectory.from_config(config).walk_revisions())

    assert [script.revision for script in reversed(scripts)] == list(revisions.REVISIONS)
    assert scripts[0].is_head
    assert scripts[0].revision == revisions.HEAD
