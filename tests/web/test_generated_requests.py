"""Requests that schemathesis makes from the OpenAPI document, valid ones and broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import (
    negative_data_rejection,
    positive_data_acceptance,
)
from starlette.types import ASGIApp

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.shop import Flaky, Parcel, Payment, Refund

EXAMPLES = 10  # for each operation, and as many broken ones
Known = dict[str, str]  # an id for each noun of a path
# What a schema cannot say: a cursor must be one of ours, data must fit the form of its request,
# and parameters that a route does not have are ignored.
UNKNOWABLE = [positive_data_acceptance, negative_data_rejection]


@pytest.fixture
def served(geneva: gd.Drive) -> tuple[ASGIApp, str, Known]:
    """An application whose database has something of everything, with ids that exist."""
    for number in range(2):
        Refund.using(geneva).create(context={"amount": number, "customer": "Eve"})
        Flaky.using(geneva).create()
        Parcel.using(geneva).create(context={"address": "Rue 1"})
        Payment.using(geneva).create(hero=gd.HeroRef("Order", str(number)))
    drain(geneva)
    for failed in geneva.workflows(Flaky).query():
        geneva.dead_letters.add(failed, actor="ann")
    geneva.publish("payment.received", {"amount": 1}, key="7")
    key = geneva.keys.create("ann", roles=["admin", "sales_manager"])
    [parcel, _] = geneva.workflows(Parcel).query()
    [approval, _] = geneva.approvals.pending()
    known = {
        "executions": str(parcel.id),
        "approvals": str(approval.id),
        "dead-letters": str(geneva.dead_letters.list()[0].id),
    }
    return gd.asgi(geneva), key.secret, known


def strategies(app: ASGIApp) -> Iterator[Any]:
    """Yield what makes the requests of each operation, and what breaks them."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # a fault fails the test
        if operation.path.endswith("/stream"):  # it does not end
            continue
        yield operation.as_strategy()
        if operation.path.startswith("/api") and (operation.query or operation.body):
            yield operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)


def test_no_generated_request_makes_the_server_fail_or_answer_as_not_described(
    served: tuple[ASGIApp, str, Known],
) -> None:
    app, secret, known = served
    answered = set()

    for cases in strategies(app):

        @given(case=cases)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            # Half of the ids are known, so that bodies are looked at too.
            if len(str(case.path_parameters.get("id", ""))) % 2:
                noun = case.operation.path.split("/")[3]
                case.path_parameters["id"] = known.get(noun, "3")
            answer = case.call(headers={"Authorization": f"Bearer {secret}"})
            answered.add(answer.status_code)
            case.validate_response(answer, excluded_checks=UNKNOWABLE)

        ask()

    assert {200, 201, 404, 409, 422} <= answered
    assert not {one for one in answered if one >= 500}
