"""Classes whose instances nobody changes, and of which a dozen are made for each step that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(cls: type[T]) -> type[T]:
    """Make a dataclass that the type checker holds to be frozen.

    Freezing one at run time makes it take three times as long to be made, which is a tenth of all
    that a step costs.
    """
    return dataclass(slots=True, kw_only=True)(cls)
