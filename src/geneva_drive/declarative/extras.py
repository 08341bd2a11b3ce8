"""Packages of the extras, imported when they are first needed."""

from __future__ import annotations

import importlib
from typing import Any

from geneva_drive.errors import MissingExtra


def load(module: str, extra: str = "json") -> Any:
    """Import a package, or raise a `MissingExtra` that names the extra it belongs to."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise MissingExtra(module, extra) from None
