"""`result_of` gives what the step returned, also of an async one; by a name it gives Any."""

from __future__ import annotations

from typing import Any, assert_type

from sqlalchemy.orm import Session

import geneva_drive as gd


def count(workflow: gd.Workflow[Any]) -> bool:
    return True


class Invoice(gd.Workflow[int]):
    @gd.step(keep_result=True)
    def total(self) -> float:
        return 1.0

    @gd.step(keep_result=True)
    async def rate(self) -> dict[str, int]:
        return {}

    @gd.step(keep_result=True, transaction=True)
    def booked(self, session: Session) -> str:
        return ""

    made = gd.step(count, keep_result=True)

    @gd.step
    def send(self) -> None:
        assert_type(self.result_of(Invoice.total), float)
        assert_type(self.result_of(self.total), float)
        assert_type(self.result_of(Invoice.rate), dict[str, int])
        assert_type(self.result_of(self.rate), dict[str, int])
        assert_type(self.result_of(Invoice.booked), str)
        assert_type(self.result_of(Invoice.made), bool)
        assert_type(self.result_of("total"), Any)
