"""The routes of the shop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncSession

import geneva_drive as gd
from examples.fastapi_orders.database import Order, create_tables, drive, engine, open_session
from examples.fastapi_orders.login import authenticate
from examples.fastapi_orders.workflows import PAID, Fulfilment
from geneva_drive.integrations.fastapi import lifespan as embedded_worker

OpenSession = Annotated[AsyncSession, Depends(open_session)]


class NewOrder(BaseModel):
    customer: str = Field(min_length=1, max_length=100)
    total: int = Field(gt=0)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    await asyncio.to_thread(create_tables)
    async with embedded_worker(drive)(app):
        yield
    await engine.dispose()


app = FastAPI(title="Orders", lifespan=lifespan)
app.mount("/geneva", gd.asgi(drive, authenticate=authenticate))


@app.post("/orders", status_code=201)
async def place_order(new: NewOrder, session: OpenSession) -> dict[str, Any]:
    """Store the order and start its workflow, in one transaction."""
    order = Order(customer=new.customer, total=new.total)
    session.add(order)
    await session.flush()  # it gets its id
    workflow = await Fulfilment.acreate(hero=order, session=session)
    await session.commit()
    return {"order": order.id, "workflow": workflow.id}


@app.post("/orders/{order_id}/payment", status_code=202)
async def receive_payment(order_id: int) -> dict[str, Any]:
    """Take the message of the payment provider; repeated messages change nothing."""
    event = await asyncio.to_thread(
        drive.publish, PAID, {"order": order_id}, id=f"payment {order_id}", key=order_id
    )
    return {"event": event.number, "duplicate": event.duplicate}


@app.get("/orders/{order_id}")
async def show_order(order_id: int, session: OpenSession) -> dict[str, Any]:
    order = await session.get(Order, order_id)
    if order is None:
        raise HTTPException(404, "There is no such order.")
    workflow = await asyncio.to_thread(Fulfilment.for_hero(order).first)
    why = None if workflow is None else await asyncio.to_thread(workflow.why)
    return {"order": order.id, "status": order.status, "why": why}
