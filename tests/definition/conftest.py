"""Workflow classes and jobs of one test are unknown to the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs


@pytest.fixture(autouse=True)
def forgotten_names() -> Iterator[None]:
    with registry.isolated(), jobs.isolated():
        yield
