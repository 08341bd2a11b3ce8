"""What the type checkers must refuse: an ignore that hides nothing is an error itself."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

import geneva_drive as gd


def body(workflow: gd.Workflow[int]) -> int:
    return 1


gd.step(body, wiat=3)  # type: ignore[call-overload]
gd.step(body, on_exception="retry")  # type: ignore[arg-type]
gd.step(body, wait="soon")  # type: ignore[call-overload]
gd.ExceptionPolicy("retry")  # type: ignore[arg-type]
gd.Retry(backoff="quadratic")  # type: ignore[arg-type]


class Signup(gd.Workflow[int]):
    @gd.step(keep_result=True)
    def total(self) -> int:
        return 1

    def misuse(self) -> None:
        amount: str = self.result_of(Signup.total)  # type: ignore[assignment]
        hero: str = self.hero  # type: ignore[assignment]
        self.total("surplus")  # type: ignore[call-arg]
        Signup.create(priority="high")  # type: ignore[arg-type]
        self.logger.info("%s %s", amount, hero)
