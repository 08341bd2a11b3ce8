"""What the type checkers must refuse: an ignore that hides nothing is an error itself."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

import geneva_drive as gd


def body(workflow: gd.Workflow[int]) -> int:
    return 1


gd.step(body, wiat=3)  # type: ignore[call-overload]
gd.step(body, on_exception="retry")  # type: ignore[arg-type]
gd.step(body, wait=[3])  # type: ignore[call-overload]
gd.task(body, after_step="a")  # type: ignore[call-overload]
gd.task(body, depends_on=7)  # type: ignore[call-overload]
gd.task(body, depends_on=gd.PREVIOUS)  # type: ignore[call-overload]
gd.task(job=body)  # type: ignore[call-overload]
gd.decision(body)  # type: ignore[type-var]
gd.child(int)  # type: ignore[arg-type]
gd.child("Ship", timeout=5)  # type: ignore[call-arg]
gd.job(body, skip_if=True)  # type: ignore[call-overload]
gd.batch(body)  # type: ignore[type-var]
gd.batch(paralelism=4)  # type: ignore[call-overload]
gd.batch(failure_strategy="ignore")  # type: ignore[call-overload]
gd.batch(keep_result=True)  # type: ignore[call-overload]
gd.map([1, 2])  # type: ignore[call-overload]
gd.map("pages", checkpoint_interval=3)  # type: ignore[call-overload]
gd.map("pages", context={})  # type: ignore[call-overload]
gd.map("pages", workflow=int)  # type: ignore[arg-type]
gd.Tolerate(percent="5")  # type: ignore[arg-type]
gd.ExceptionPolicy("retry")  # type: ignore[arg-type]
gd.cron("0 9 * * *", overlap="skp")  # type: ignore[arg-type]
gd.cron("0 9 * * *", "UTC")  # type: ignore[call-arg]
gd.cron("0 9 * * *", jiter=5)  # type: ignore[call-arg]
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
        Signup.create(context=[1])  # type: ignore[arg-type]
        Signup.create(actor=7)  # type: ignore[arg-type]
        self.logger.info("%s %s", amount, hero)


@dataclass
class Plan:
    name: str


@dataclass
class Terms:
    days: int


class Trial(gd.Workflow[int, Plan]):
    def misuse(self) -> None:
        str(self.context.price)  # type: ignore[attr-defined]
        str(self.context["name"])  # type: ignore[index]
        Trial.create(context=Terms(3))  # type: ignore[arg-type]


class OfNumbers(gd.Workflow[int, int]): ...  # type: ignore[type-var]


async def misuse_from_async_code(session: AsyncSession) -> None:
    await Signup.acreate(priority="high")  # type: ignore[arg-type]
    await Signup.acreate(wiat=3)  # type: ignore[call-arg]
    Signup.create(session=session)  # type: ignore[arg-type]


def decided(workflow: gd.Workflow[int], decision: gd.ApprovalDecision[Plan]) -> None: ...


gd.approval(decided, role="a", form=Terms)  # type: ignore[misc]
gd.approval(decided, role="a")  # type: ignore[arg-type]
gd.approval(decided, role="a", form=Plan, keep_result=True)  # type: ignore[call-overload]
gd.approval(decided, role=7, form=Plan)  # type: ignore[call-overload]
gd.approval(decided, approvers=[7], form=Plan)  # type: ignore[list-item]
gd.approval(body, role="a")  # type: ignore[arg-type]
gd.Actor(7)  # type: ignore[arg-type]
gd.ApprovalDecision(True)  # type: ignore[call-arg]


class Trade(gd.Workflow[int]):
    @gd.approval(role="a", form=Terms)  # type: ignore[arg-type]
    def sign(self, decision: gd.ApprovalDecision[Plan]) -> None:
        str(decision.data.days)  # type: ignore[attr-defined]
