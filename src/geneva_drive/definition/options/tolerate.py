"""The failures that a batch or a map accepts."""

from __future__ import annotations

from dataclasses import dataclass

from geneva_drive import checks
from geneva_drive.definition.compiler import code_location


@dataclass(frozen=True, slots=True)
class Tolerate:
    """How many failures a batch or map accepts before its `failure_strategy` applies.

    The strategy applies once any of the given limits is exceeded. `workers` and `items` are
    numbers; `percent` is a share of the workers. Without `workers` and `percent`, no worker may
    fail. In a map, each item is a worker.

    >>> import geneva_drive as gd
    >>> gd.Tolerate(workers=2)
    Tolerate(workers=2, items=None, percent=None)
    """

    workers: int | None = None
    items: int | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        with code_location.ending_at_caller:
            self._check()

    def _check(self) -> None:
        if self.workers is None and self.items is None and self.percent is None:
            raise code_location.fault(
                "gd.Tolerate has no limit. Pass workers, items or percent, or leave out tolerate."
            )
        for name in ("workers", "items"):
            if getattr(self, name) is not None:
                checks.whole_number(
                    f"gd.Tolerate: {name}",
                    getattr(self, name),
                    at_least=0,
                    error=code_location.fault,
                )
        if self.percent is not None:
            checks.number(
                "gd.Tolerate: percent",
                self.percent,
                at_least=0,
                at_most=100,
                error=code_location.fault,
            )
