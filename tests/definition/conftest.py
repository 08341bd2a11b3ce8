"""Workflow classes of one test are unknown to the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from geneva_drive.definition import registry


@pytest.fixture(autouse=True)
def forgotten_classes() -> Iterator[None]:
    with registry.isolated():
        yield
