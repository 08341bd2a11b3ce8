"""The metadata of the package promises only what is there."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_extras_exist_only_for_what_the_library_uses() -> None:
    assert set(EXTRAS) - {"dev"} == {
        "postgres",
        "mysql",
        "django",
        "json",
        "notify",
        "server",
        "all",
    }
    assert EXTRAS["all"] == ["geneva-drive[postgres,mysql,django,json,notify,server]"]


def test_the_package_says_where_it_is_found() -> None:
    assert PROJECT["urls"]["Homepage"] == "https://pypi.org/project/geneva-drive/"
