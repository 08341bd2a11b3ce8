"""Handles know the class of their workflow, wherever they come from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, assert_type

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.drive.class_workflows import ClassWorkflows
from geneva_drive.drive.search.queries import WorkflowQuery


class Signup(gd.Workflow[int]):
    @gd.step
    def welcome(self) -> None:
        mine: gd.WorkflowHandle[Signup] = self.handle
        mine.cancel()


class PaidSignup(Signup): ...


drive = gd.configure("sqlite:///geneva.db")
assert_type(drive, gd.Drive)
assert_type(gd.current_drive(), gd.Drive)


def creating(session: Session, connection: Connection) -> None:
    assert_type(Signup.create(), gd.WorkflowHandle[Signup])
    assert_type(
        Signup.create(
            gd.HeroRef("User", "7"),
            allow_multiple=True,
            context={"plan": "pro"},
            queue="mail",
            priority=3,
            wait=60,
            idempotency_key="k",
            session=session,
        ),
        gd.WorkflowHandle[Signup],
    )
    assert_type(Signup.create(hero=None, session=connection), gd.WorkflowHandle[Signup])
    assert_type(Signup.create(gd.HeroRef("User", 7)).hero_id, str | None)
    assert_type(gd.HeroRef("User", 7).id, str)
    Signup.create(wait=datetime(2030, 1, 1, tzinfo=UTC))
    assert_type(Signup.get_or_create(hero=gd.HeroRef("User", "7")), gd.WorkflowHandle[Signup])
    assert_type(PaidSignup.create(), gd.WorkflowHandle[PaidSignup])


async def creating_from_async_code(session: AsyncSession, connection: AsyncConnection) -> None:
    assert_type(await Signup.acreate(), gd.WorkflowHandle[Signup])
    assert_type(
        await Signup.acreate(
            gd.HeroRef("User", "7"),
            allow_multiple=True,
            context={"plan": "pro"},
            queue="mail",
            priority=3,
            wait=60,
            idempotency_key="k",
            session=session,
        ),
        gd.WorkflowHandle[Signup],
    )
    assert_type(await Signup.acreate(hero=None, session=connection), gd.WorkflowHandle[Signup])
    assert_type(await Signup.aget_or_create(7, session=session), gd.WorkflowHandle[Signup])
    assert_type(await PaidSignup.acreate(), gd.WorkflowHandle[PaidSignup])
    assert_type(await Signup.using(drive).acreate(session=session), gd.WorkflowHandle[Signup])


async def finding_from_async_code() -> None:
    assert_type(await Signup.afind(7), gd.WorkflowHandle[Signup])
    assert_type(await PaidSignup.afind("7"), gd.WorkflowHandle[PaidSignup])
    assert_type(await Signup.using(drive).afind(7), gd.WorkflowHandle[Signup])


async def commanding_from_async_code(workflow: gd.WorkflowHandle[Signup]) -> None:
    assert_type(await workflow.apause(reason="r", actor="a"), gd.WorkflowHandle[Signup])
    assert_type(await workflow.aset_parallelism("rows", 2), gd.WorkflowHandle[Signup])
    assert_type(await workflow.aresume(data={"k": 1}), gd.WorkflowHandle[Signup])
    assert_type(await workflow.acancel(force=True), gd.WorkflowHandle[Signup])
    assert_type(await workflow.areload(), gd.WorkflowHandle[Signup])


def finding() -> None:
    assert_type(Signup.find(7), gd.WorkflowHandle[Signup])
    assert_type(PaidSignup.find("7"), gd.WorkflowHandle[PaidSignup])
    assert_type(Signup.ready(), WorkflowQuery[Signup])
    assert_type(Signup.performing().count(), int)
    assert_type(Signup.paused().for_hero(gd.HeroRef("User", "7")), WorkflowQuery[Signup])
    assert_type(Signup.for_hero(1).ongoing().limit(3).all(), list[gd.WorkflowHandle[Signup]])
    assert_type(Signup.finished().first(), gd.WorkflowHandle[Signup] | None)
    assert_type(iter(Signup.canceled()), Iterator[gd.WorkflowHandle[Signup]])
    assert_type([found.state for found in Signup.ongoing()], list[gd.WorkflowState])


def with_another_drive() -> None:
    assert_type(Signup.using(drive), ClassWorkflows[Signup])
    assert_type(Signup.using(drive).create(), gd.WorkflowHandle[Signup])
    assert_type(Signup.using(drive).get_or_create(), gd.WorkflowHandle[Signup])
    assert_type(Signup.using(drive).find(7), gd.WorkflowHandle[Signup])
    assert_type(Signup.using(drive).paused().first(), gd.WorkflowHandle[Signup] | None)


def commanding(workflow: gd.WorkflowHandle[Signup]) -> None:
    assert_type(workflow.pause(reason="r", actor="a"), gd.WorkflowHandle[Signup])
    assert_type(workflow.resume(data={"k": 1}), gd.WorkflowHandle[Signup])
    assert_type(workflow.resume_at(Signup.welcome), gd.WorkflowHandle[Signup])
    assert_type(workflow.cancel(force=True), gd.WorkflowHandle[Signup])
    assert_type(workflow.skip(), gd.WorkflowHandle[Signup])
    assert_type(workflow.reload(), gd.WorkflowHandle[Signup])


def reading(workflow: gd.WorkflowHandle[Signup]) -> None:
    assert_type(workflow.state, gd.WorkflowState)
    assert_type(workflow.workflow_class, type[Signup] | None)
    assert_type(workflow.created_at, datetime)
    assert_type(workflow.step_executions, list[gd.StepExecution])
    assert_type(workflow.current_execution, gd.StepExecution | None)
    assert_type(workflow.step_executions[0].outcome, gd.Outcome | None)
    assert_type(workflow.step_executions[0].state, gd.StepState)
    assert_type(workflow.has_passed(Signup.welcome), bool)
    assert_type(workflow.why(), str)


def any_of_them(workflow: gd.WorkflowHandle[gd.Workflow[Any]]) -> None:
    """A handle of a class is one of its parents, so that helpers may take any."""


def passing(workflow: gd.WorkflowHandle[PaidSignup]) -> None:
    any_of_them(workflow)
    commanding(workflow)
    assert_type(gd.Workflow.find(7).type, str | None)


def listening(event: gd.TelemetryEvent) -> None:
    assert_type(event.at, datetime)


assert_type(drive.events.subscribe(listening)(), None)
