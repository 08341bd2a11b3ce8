"""The examples in docstrings are executed."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import geneva_drive as gd
from geneva_drive.declarative.actions import registry as document_functions
from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs, templates
from geneva_drive.drive import default_drive

SOURCE = Path(*gd.__path__)
MODULES = sorted(
    ".".join(("geneva_drive", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("*.py")
    if ">>>" in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_give_what_they_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    try:
        with (
            registry.isolated(),
            jobs.isolated(),
            templates.isolated(),
            document_functions.isolated(),
        ):
            results = doctest.testmod(importlib.import_module(name))
    finally:
        default_drive.use(None)

    assert results.failed == 0
    assert results.attempted > 0
