"""`result_of` gives what the step returned, also of an async one; by a name it gives Any.

Inside a step and on a handle alike.
"""

from __future__ import annotations

from datetime import timedelta
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
    archived = gd.child("Archive")

    @gd.step
    def send(self) -> None:
        assert_type(self.result_of(Invoice.total), float)
        assert_type(self.result_of(self.total), float)
        assert_type(self.result_of(Invoice.rate), dict[str, int])
        assert_type(self.result_of(self.rate), dict[str, int])
        assert_type(self.result_of(Invoice.booked), str)
        assert_type(self.result_of(Invoice.made), bool)
        assert_type(self.result_of("total"), Any)
        assert_type(self.result_of(Invoice.archived), Any)
        assert_type(self.results_of([Invoice.total, "rate"]), list[Any])
        assert_type(self.results_of(), list[Any])
        self.finish(result={"paid": True})


async def reading(invoice: gd.WorkflowHandle[Invoice]) -> None:
    assert_type(invoice.result, Any)
    assert_type(invoice.result_of(Invoice.total), float)
    assert_type(invoice.result_of(Invoice.rate), dict[str, int])
    assert_type(invoice.result_of(Invoice.booked), str)
    assert_type(invoice.result_of(Invoice.made), bool)
    assert_type(invoice.result_of(Invoice.archived), Any)
    assert_type(invoice.result_of("total"), Any)
    assert_type(invoice.results_of([Invoice.total, "made"]), list[Any])
    assert_type(invoice.wait(timeout=5), gd.WorkflowHandle[Invoice])
    assert_type(await invoice.ended(timedelta(seconds=5)), gd.WorkflowHandle[Invoice])
    assert_type(invoice.parent, gd.WorkflowHandle[Any] | None)
    assert_type(invoice.parent_node, str | None)
    assert_type(invoice.children, list[gd.WorkflowHandle[Any]])
