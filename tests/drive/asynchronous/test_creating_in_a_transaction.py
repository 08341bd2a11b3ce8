"""Starting workflows as a part of the caller's own transaction on an async driver."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from sqlalchemy import Select, insert, select
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
)

import geneva_drive as gd
from tests.drive.asynchronous.conftest import InSession, WithEngine
from tests.heroes import User, names
from tests.worker.watching import Watch

ADA = gd.HeroRef("Pilot", "ada")


class Signup(gd.Workflow[Any]):
    type_name = "asynchronous.test_creating_in_a_transaction.Signup"

    @gd.step
    def welcome(self) -> None: ...


def everyone() -> Select[Any]:
    return select(User)


def test_workflow_and_pending_hero_are_committed_together(
    geneva: gd.Drive, users: None, in_session: InSession[str | None]
) -> None:
    async def sign_up(session: AsyncSession) -> str | None:
        user = User(name="Ada")
        session.add(user)
        workflow = await Signup.acreate(user, session=session)
        assert workflow.hero_id == str(user.id)
        await session.commit()
        return workflow.hero_id

    hero_id = in_session(sign_up)

    assert [workflow.hero_id for workflow in Signup.ready()] == [hero_id]
    assert names(geneva) == ["Ada"]


def test_workflow_and_hero_are_rolled_back_together(
    geneva: gd.Drive, users: None, in_session: InSession[None]
) -> None:
    async def sign_up(session: AsyncSession) -> None:
        user = User(name="Ada")
        session.add(user)
        await Signup.acreate(user, session=session)
        await session.rollback()

    in_session(sign_up)

    assert gd.Workflow.ongoing().count() == 0
    assert geneva.executions().count() == 0
    assert names(geneva) == []


def test_nothing_is_committed_for_a_session_that_has_only_read(
    geneva: gd.Drive, users: None, in_session: InSession[None]
) -> None:
    async def sign_up(session: AsyncSession) -> None:
        assert (await session.scalars(everyone())).all() == []
        await Signup.acreate(session=session)
        await session.rollback()

    in_session(sign_up)

    assert gd.Workflow.ongoing().count() == 0


def test_the_transaction_of_an_async_connection_is_joined(
    geneva: gd.Drive, users: None, with_engine: WithEngine[None]
) -> None:
    async def sign_up(engine: AsyncEngine) -> None:
        async with engine.begin() as connection:
            await connection.execute(insert(User).values(id=1, name="Ada"))
            await Signup.acreate(gd.HeroRef("User", "1"), session=connection)
        async with engine.connect() as connection:
            await Signup.acreate(gd.HeroRef("User", "2"), session=connection)
            await connection.rollback()

    with_engine(sign_up)

    assert [workflow.hero_id for workflow in Signup.ready()] == ["1"]
    assert names(geneva) == ["Ada"]


def test_a_refusal_leaves_the_transaction_usable(
    geneva: gd.Drive, users: None, in_session: InSession[gd.errors.AlreadyRunning]
) -> None:
    existing = Signup.create(ADA)

    async def sign_up(session: AsyncSession) -> gd.errors.AlreadyRunning:
        session.add(User(name="before"))
        with pytest.raises(gd.errors.AlreadyRunning) as refusal:
            await Signup.acreate(ADA, session=session)
        session.add(User(name="after"))
        await session.commit()
        return refusal.value

    refusal = in_session(sign_up)

    assert refusal.existing == existing
    assert names(geneva) == ["after", "before"]


def test_of_concurrent_transactions_for_one_hero_one_is_let_in(
    geneva: gd.Drive, with_engine: WithEngine[list[str]]
) -> None:
    async def sign_up(engine: AsyncEngine, told: list[str]) -> None:
        async with AsyncSession(engine) as session:
            try:
                workflow = await Signup.acreate(ADA, session=session)
            except gd.errors.AlreadyRunning as refusal:
                workflow = refusal.existing
                told.append(f"refused: {workflow.id}")
            else:
                told.append(f"created: {workflow.id}")
            await session.commit()

    async def all_at_once(engine: AsyncEngine) -> list[str]:
        told: list[str] = []
        await asyncio.gather(*(sign_up(engine, told) for _ in range(4)))
        return told

    told = with_engine(all_at_once)

    [key] = Signup.ready().ids()
    assert sorted(told) == [f"created: {key}", *[f"refused: {key}"] * 3]


def test_aget_or_create_joins_the_transaction_too(
    geneva: gd.Drive, in_session: InSession[list[Any]]
) -> None:
    async def sign_up_twice(session: AsyncSession) -> list[Any]:
        first = await Signup.aget_or_create(ADA, session=session)
        second = await Signup.aget_or_create(ADA, session=session)
        await session.commit()
        return [first.id, second.id]

    assert in_session(sign_up_twice) == Signup.ready().ids() * 2


def test_a_known_idempotency_key_is_found_inside_the_transaction(
    geneva: gd.Drive, in_session: InSession[list[Any]]
) -> None:
    async def sign_up_twice(session: AsyncSession) -> list[Any]:
        first = await Signup.acreate(idempotency_key="call 1", session=session)
        second = await Signup.acreate(idempotency_key="call 1", session=session)
        await session.commit()
        return [first.id, second.id]

    assert in_session(sign_up_twice) == Signup.ready().ids() * 2


def test_an_async_scoped_session_is_joined_as_the_session_it_stands_for(
    geneva: gd.Drive, users: None, with_engine: WithEngine[None]
) -> None:
    async def sign_up(engine: AsyncEngine) -> None:
        registry = async_scoped_session(async_sessionmaker(engine), asyncio.current_task)
        user = User(name="Ada")
        registry.add(user)
        await Signup.acreate(user, session=registry)  # type: ignore[arg-type]  # typed as a proxy
        await registry.rollback()
        await registry.remove()

    with_engine(sign_up)

    assert gd.Workflow.ongoing().count() == 0
    assert names(geneva) == []


def test_an_event_is_told_after_the_commit_and_once(
    geneva: gd.Drive, in_session: InSession[None]
) -> None:
    watch = Watch(geneva)

    async def sign_up(session: AsyncSession) -> None:
        await Signup.acreate(session=session)
        await session.rollback()
        await Signup.acreate(ADA, session=session)
        assert watch.workflows("ready") == []
        await session.commit()
        await session.commit()

    in_session(sign_up)  # its loop ends after its threads

    assert [event.hero_id for event in watch.workflows("ready")] == ["ada"]


def test_the_event_loop_waits_for_no_subscriber(
    geneva: gd.Drive, in_session: InSession[None]
) -> None:
    told_on: list[int] = []
    geneva.events.subscribe(lambda event: told_on.append(threading.get_ident()))

    async def sign_up(session: AsyncSession) -> None:
        await Signup.acreate(session=session)
        await session.commit()

    in_session(sign_up)  # its loop ends after its threads

    assert len(told_on) == 2  # the workflow and its first execution
    assert threading.get_ident() not in told_on


def test_the_fields_of_a_new_handle_need_no_query_of_the_drive(
    geneva: gd.Drive, in_session: InSession[list[Any]], statements: list[str]
) -> None:
    Signup.create(ADA)

    async def sign_up(session: AsyncSession) -> list[Any]:
        new = await Signup.acreate(session=session)
        known = await Signup.aget_or_create(ADA, session=session)
        statements.clear()
        read = [(w.state, w.next_step_name, w.current_step_name) for w in (new, known)]
        assert [len(w.current_executions) for w in (new, known)] == [1, 1]
        return read

    assert in_session(sign_up) == [("ready", "welcome", None)] * 2
    assert statements == []


def test_create_names_the_form_that_takes_an_async_session(
    geneva: gd.Drive, with_engine: WithEngine[list[str]]
) -> None:
    async def sign_up(engine: AsyncEngine) -> list[str]:
        told: list[str] = []
        async with AsyncSession(engine) as session, engine.connect() as connection:
            for given in (session, connection):
                with pytest.raises(gd.errors.InvalidInput) as refusal:
                    Signup.create(session=given)  # type: ignore[arg-type]  # the very thing under test
                told.append(str(refusal.value))
        return told

    assert with_engine(sign_up) == [
        "The session is an AsyncSession, which has to be awaited. "
        "Use `await Signup.acreate(..., session=session)`.",
        "The session is an AsyncConnection, which has to be awaited. "
        "Use `await Signup.acreate(..., session=session)`.",
    ]


def test_a_dynamic_workflow_starts_in_run_sync(
    geneva: gd.Drive, in_session: InSession[str]
) -> None:
    @gd.job(name="work")
    def work() -> None: ...

    built = gd.DynamicWorkflow()
    built.fan_out(range(60), name="work_{}", job=work)

    async def start(session: AsyncSession) -> str:
        with pytest.raises(gd.errors.InvalidInput) as refusal:
            built.start(session=session)  # type: ignore[arg-type]  # the very thing under test
        await session.run_sync(lambda joined: built.start(session=joined))
        await session.commit()
        return str(refusal.value)

    assert in_session(start) == (
        "The session is an AsyncSession, which has to be awaited. "
        "Use `await session.run_sync(lambda joined: workflow.start(session=joined))`."
    )
    assert geneva.executions(state="scheduled").count() == 60
