"""A FastAPI application that creates a user and their workflow in one transaction."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

import geneva_drive as gd
from tests.heroes import User


class Signup(gd.Workflow[User]):
    type_name = "asynchronous.application.Signup"

    @gd.step
    async def welcome(self) -> None: ...


async def open_session(request: Request) -> AsyncIterator[AsyncSession]:
    async with request.app.state.sessions() as session:
        yield session


OpenSession = Annotated[AsyncSession, Depends(open_session)]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    engine = create_async_engine(os.environ["APPLICATION_DATABASE_URL"])
    app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
    yield
    await engine.dispose()


@asynccontextmanager
async def working_lifespan(app: FastAPI) -> AsyncIterator[None]:
    with gd.current_drive().worker():
        async with lifespan(app):
            yield


app = FastAPI(lifespan=lifespan)
working_app = FastAPI(lifespan=working_lifespan)  # has a worker in its own process


@app.post("/users", status_code=201)
@working_app.post("/users", status_code=201)
async def sign_up(name: str, session: OpenSession) -> dict[str, Any]:
    user = User(name=name)
    session.add(user)
    workflow = await Signup.acreate(user, session=session)
    if not name.isalpha():
        raise HTTPException(422)  # without a commit
    await session.commit()
    return {"user": user.id, "workflow": workflow.id, "state": workflow.state}


@app.post("/users/{user_id}/signups", status_code=201)
async def sign_up_again(user_id: int, session: OpenSession) -> dict[str, Any]:
    user = await session.get_one(User, user_id)
    user.name = f"{user.name} again"
    try:
        workflow = await Signup.acreate(user, session=session)
    except gd.errors.AlreadyRunning as refusal:
        await session.commit()
        raise HTTPException(409, str(refusal.existing.state)) from refusal
    await session.commit()
    return {"workflow": workflow.id}


@app.get("/signups/{workflow_id}")
@working_app.get("/signups/{workflow_id}")
async def show(workflow_id: int) -> str:
    return (await Signup.afind(workflow_id)).state


@app.post("/signups/{workflow_id}/pause")
async def pause(workflow_id: int, reason: str) -> str:
    workflow = await Signup.afind(workflow_id)
    return (await workflow.apause(reason=reason)).state
