"""An order whose class changes while it is under way."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from geneva_drive.testing import perform_step_inline
from tests.deploys import former_code


def start_former(name: str, ran: list[str], *performed: str, broken: str = "") -> Any:
    """Start an order of the former code (validate -> stock, fraud -> charge), and perform these.

    `ran` gets the names of the steps whose bodies run.
    """

    def run(step: str) -> None:
        ran.append(step)
        if step == broken:
            raise ValueError(f"{step} is broken")

    with former_code():

        class Former(gd.Workflow):
            type_name = name

            @gd.step
            def validate(self) -> None:
                run("validate")

            @gd.task(depends_on=validate)
            def stock(self) -> None:
                run("stock")

            @gd.task(depends_on=validate)
            def fraud(self) -> None:
                run("fraud")

            @gd.step(depends_on=[stock, fraud])
            def charge(self) -> None:
                run("charge")

        workflow = Former.create()
        for step in performed:
            perform_step_inline(workflow, step)
        return workflow.id
