"""The second parameter of a workflow class types its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, assert_type

from pydantic import BaseModel

import geneva_drive as gd
from geneva_drive.testing import instance


class User:
    name: str = "Ada"


@dataclass(frozen=True)
class Plan:
    name: str


@dataclass(frozen=True)
class PaidPlan(Plan):
    price: int = 0


class Terms(BaseModel):
    days: int


PlanT = TypeVar("PlanT", bound=Plan)


class Signup(gd.Workflow[User, Plan]):
    @gd.step
    def welcome(self) -> str:
        assert_type(self.hero, User)
        assert_type(self.context, Plan)
        return self.context.name

    @gd.step(skip_if=lambda self: self.context.name == "free")
    def charge(self) -> None: ...


class Contract(gd.Workflow[Any, Terms]):
    @gd.step(keep_result=True)
    def sign(self) -> int:
        return self.context.days

    signup = gd.child(Signup, context=lambda self: Plan("pro"))


class Generous(gd.Workflow[User, PlanT], Generic[PlanT]):
    def plan(self) -> PlanT:
        return self.context


class Paid(Generous[PaidPlan]):
    def price(self) -> int:
        assert_type(self.context, PaidPlan)
        return self.context.price


class OfHero(gd.Workflow[User]):
    def read(self) -> None:
        assert_type(self.context, Mapping[str, Any])


class Plain(gd.Workflow):
    def read(self) -> None:
        assert_type(self.hero, Any)
        assert_type(self.context, Mapping[str, Any])


def of_any(workflow: gd.Workflow[Any, Any]) -> Any:
    return workflow.context


async def creating(drive: gd.Drive) -> None:
    workflow = Signup.create(context=Plan("pro"), actor="ann")
    assert_type(workflow, gd.WorkflowHandle[Signup])
    assert_type(workflow.context, Mapping[str, Any])
    assert_type(workflow.started_by, str | None)
    Signup.create(context={"name": "pro"})
    Signup.create(context=PaidPlan("pro"))
    Contract.create(context=Terms(days=3))
    Paid.create(context=PaidPlan("pro"))
    assert_type(await Signup.acreate(context=Plan("pro"), actor="ann"), gd.WorkflowHandle[Signup])
    Contract.using(drive).create(context=Terms(days=3), actor="ann")
    OfHero.create(context={"name": "pro"})
    of_any(instance(Signup, context=Plan("pro")))
    of_any(instance(Paid, context={"name": "pro"}))
    assert_type(workflow.result_of(Signup.welcome), str)
