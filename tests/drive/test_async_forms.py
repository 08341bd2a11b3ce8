"""The async forms of create, find, reload and the commands, which run on a thread."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.drive.create_options import CreateOptions
from tests.heroes import User, names

ADA = gd.HeroRef("Pilot", "ada")


class Signup(gd.Workflow[Any]):
    type_name = "test_async_forms.Signup"

    @gd.step
    def welcome(self) -> None: ...


@pytest.fixture
def threads(geneva: gd.Drive) -> Iterator[set[int]]:
    """The threads on which the Drive executes statements."""
    seen: set[int] = set()

    def note(*_: Any) -> None:
        seen.add(threading.get_ident())

    event.listen(geneva.engine, "before_cursor_execute", note)
    # An engine with a listener executes all statements by itself.
    event.listen(geneva.engine, "after_cursor_execute", note)
    yield seen
    event.remove(geneva.engine, "before_cursor_execute", note)
    event.remove(geneva.engine, "after_cursor_execute", note)


def test_no_statement_is_executed_on_the_thread_of_the_event_loop(
    geneva: gd.Drive, threads: set[int]
) -> None:
    async def live() -> list[Any]:
        workflow = await Signup.acreate(ADA, context={"plan": "pro"})
        states = [workflow.state]
        states.append((await workflow.apause(reason="holiday", actor="ada")).state)
        states.append((await workflow.aresume(data={"plan": "free"})).state)
        found = await Signup.afind(workflow.id)
        states.append((await found.acancel(reason="enough")).state)
        states.append((await workflow.areload()).state)
        return [*states, workflow.next_step_name, dict(workflow.context)]

    assert asyncio.run(live()) == [
        *("ready", "paused", "ready", "canceled", "canceled"),
        *(None, {"plan": "free"}),
    ]
    assert threads
    assert threading.get_ident() not in threads


def test_a_command_keeps_its_reason_and_actor(geneva: gd.Drive) -> None:
    workflow = Signup.create()

    async def command() -> None:
        await workflow.apause("holiday", "ada")
        await workflow.aresume(None, "back again", "bob")
        await workflow.acancel(False, "enough", "eve")

    asyncio.run(command())

    assert [(e.command, e.reason, e.actor) for e in workflow.audit_entries] == [
        ("pause", "holiday", "ada"),
        ("resume", "back again", "bob"),
        ("cancel", "enough", "eve"),
    ]


def test_the_state_of_a_dynamic_workflow_is_read_on_a_thread_as_well(
    geneva: gd.Drive, threads: set[int]
) -> None:
    @gd.job(name="work")
    def work() -> None: ...

    built = gd.DynamicWorkflow()
    built.node("only", job=work)
    key = built.start().id
    threads.clear()

    async def look() -> tuple[str, str | None]:
        workflow = await gd.Workflow.afind(key)
        return workflow.state, workflow.next_step_name

    assert asyncio.run(look()) == ("ready", "only")
    assert threading.get_ident() not in threads


def test_a_refused_acreate_knows_the_state_of_the_existing_workflow(
    geneva: gd.Drive, threads: set[int]
) -> None:
    existing = Signup.create(ADA)
    threads.clear()

    async def sign_up() -> list[Any]:
        with pytest.raises(gd.errors.AlreadyRunning) as refusal:
            await Signup.acreate(ADA)
        known = await Signup.aget_or_create(ADA)
        return [refusal.value.existing.state, refusal.value.existing, known]

    assert asyncio.run(sign_up()) == ["ready", existing, existing]
    assert threading.get_ident() not in threads


def test_afind_raises_not_found(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.NotFound) as missing:
        asyncio.run(Signup.afind(999))

    assert str(missing.value) == (
        "There is no test_async_forms.Signup workflow with id 999. `geneva list` shows all "
        "workflows."
    )


def test_acreate_joins_a_session_without_await_on_the_callers_thread(
    geneva: gd.Drive, users: None
) -> None:
    async def sign_up() -> None:
        with Session(geneva.engine) as session:
            user = User(name="Ada")
            session.add(user)
            await Signup.acreate(user, session=session)
            session.rollback()

    asyncio.run(sign_up())

    assert gd.Workflow.ongoing().count() == 0
    assert names(geneva) == []


def test_other_tasks_run_while_acreate_waits_for_the_database(geneva: gd.Drive) -> None:
    async def sign_up() -> str:
        with Session(geneva.engine) as session:
            Signup.create(ADA, session=session)  # its index entry is locked until the end
            waiting = asyncio.create_task(Signup.aget_or_create(ADA))
            await asyncio.sleep(0)
            session.rollback()
            return (await waiting).state

    assert asyncio.run(sign_up()) == "ready"


def test_acreate_has_the_keywords_of_create() -> None:
    parameters = list(inspect.signature(Signup.create).parameters)

    assert parameters == ["hero", *CreateOptions.__annotations__, "session"]
