from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import geneva_drive as gd
import geneva_drive.testing


def in_order(names: list[str]) -> list[str]:
    """Constants first, as the linter wants them."""
    return sorted(set(names), key=lambda name: (not name.isupper(), name))


def test_the_public_names_are_sorted_and_named_once() -> None:
    assert gd.__all__ == in_order(gd.__all__)
    assert geneva_drive.testing.__all__ == in_order(geneva_drive.testing.__all__)


@pytest.mark.parametrize("module", [gd, geneva_drive.testing], ids=["geneva_drive", "testing"])
def test_nothing_else_is_public(module: ModuleType) -> None:
    public = {
        name
        for name in dir(module)
        if not name.startswith("_")
        and name != "annotations"
        and not (inspect.ismodule(getattr(module, name)) and name not in module.__all__)
    }

    assert public == set(module.__all__)


PUBLIC = [(gd, name) for name in gd.__all__] + [
    (geneva_drive.testing, name) for name in geneva_drive.testing.__all__
]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[name for _, name in PUBLIC])
def test_every_public_name_is_documented(module: ModuleType, name: str) -> None:
    public = getattr(module, name)

    own = vars(public).get("__doc__") if inspect.isclass(public) else public.__doc__
    assert own
    # What dataclasses and Generic would write by themselves says nothing.
    assert not own.startswith(f"{name}(")


def test_the_package_is_typed_and_has_a_version() -> None:
    assert gd.__version__ == "0.1.0"
