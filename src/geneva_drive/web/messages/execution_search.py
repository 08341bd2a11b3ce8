"""The filters of `GET /executions`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.states import Need, WorkflowState
from geneva_drive.web.messages.parameters import Moment

_Text = Annotated[str | None, Query(min_length=1, max_length=255)]


async def _filters(  # noqa: PLR0913 - the contract's filters
    *,
    state: WorkflowState | None = None,
    needs: Annotated[Need | None, Query(description="Who acts next.")] = None,
    type: _Text = None,
    step: Annotated[
        str | None, Query(min_length=1, max_length=255, description="The step it is at.")
    ] = None,
    queue: _Text = None,
    paused_reason: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    error_class: Annotated[
        str | None, Query(min_length=1, max_length=255, description="Of the last failure.")
    ] = None,
    hero_type: _Text = None,
    hero_id: _Text = None,
    created_after: Moment | None = None,
    created_before: Moment | None = None,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=255,
            description="An id, or the beginning of a hero's id, with or without its type.",
        ),
    ] = None,
) -> SearchFilter:
    return SearchFilter.of(
        {
            "state": state,
            "needs": needs,
            "type": type,
            "step": step,
            "queue": queue,
            "paused_reason": paused_reason,
            "error_class": error_class,
            "hero_type": hero_type,
            "hero_id": hero_id,
            "created_after": created_after,
            "created_before": created_before,
            "q": q,
        },
        owner="The filter",
    )


ExecutionFilters = Annotated[SearchFilter, Depends(_filters)]
