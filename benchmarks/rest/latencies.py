"""How long reads take at a steady rate, beside a million workflows."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

from benchmarks.percentiles import percentile
from benchmarks.rest.client import Client

API = "/api/v1"
RATE = 50.0  # requests per second
_THREADS = 24  # so many may be under way at once


def paths(client: Client, count: int) -> dict[str, list[str]]:
    """Return the requests to measure, by what they are called."""
    chosen = random.Random(10)
    some = [1000 + chosen.randrange(count) for _ in range(300)]
    day = (datetime.now(UTC) - timedelta(days=12)).isoformat()
    hour = (datetime.now(UTC) - timedelta(days=12) + timedelta(hours=1)).isoformat()
    lists = f"{API}/executions?"
    wanted = {
        "list": [f"{API}/executions", *_pages(client, f"{API}/executions", 8)],
        "state": [f"{lists}state={state}" for state in ("finished", "canceled", "paused", "ready")],
        "type and state": [f"{lists}type={name}&state=finished" for name in ("Order", "Invoice")],
        "paused reason": [f"{lists}paused_reason=approval_required"],
        "needs": [f"{lists}needs={one}" for one in ("operator", "person", "event", "timer")],
        "error class": [f"{lists}error_class=builtins.ConnectionError"],
        "step": [f"{lists}state=paused&step=charge"],
        "hero": [f"{lists}hero_type=Order&hero_id=A{one}" for one in some[:50]],
        "begins": [f"{lists}q=A{one}" for one in some[:50]],
        "created": [f"{lists}created_after={quote(day)}&created_before={quote(hour)}"],
        "with context": [f"{lists}include=context&limit=100"],
        "execution": [f"{API}/executions/{one}" for one in some],
        "trace": [f"{API}/executions/{one}/trace" for one in some],
        "inbox": [f"{API}/approvals?state=pending&mine=true", f"{API}/approvals?state=pending"],
        "dead letters": [f"{API}/dead-letters?state=pending"],
        "failures": [f"{API}/failures?since=24h"],
        "audit": [f"{API}/audit"],
        "queues": [f"{API}/queues"],
        "metrics": ["/metrics"],
    }
    return {name: addresses for name, addresses in wanted.items() if addresses}


def pages(count: int) -> dict[str, list[str]]:
    """Return the pages of the dashboard to measure, by their address."""
    one = 1000 + count // 2
    lists = (
        "",
        "?state=all",
        "?state=paused",
        "?type=Order",
        "?error_class=builtins.ConnectionError",
    )
    needs = ("operator", "person", "event", "timer", "worker")
    others = ("approvals", "failures", "dead-letters", "events", "schedules", "definitions")
    addresses = [
        "/",
        *(f"/workflows{query}" for query in lists),
        *(f"/workflows?needs={need}" for need in needs),
        f"/workflows/{one}",
        *(f"/{name}" for name in others),
        "/definitions/Order",
        "/workers",
        "/audit",
    ]
    return {address.replace(f"/{one}", "/{id}"): [address] for address in addresses}


def _pages(client: Client, path: str, count: int) -> Iterator[str]:
    cursor = client.get(path)["next_cursor"]
    for _ in range(count):
        following = f"{path}?cursor={cursor}"
        yield following
        cursor = client.get(following)["next_cursor"]


def alone(client: Client, wanted: dict[str, list[str]], times: int) -> dict[str, list[float]]:
    """Return the milliseconds of each kind of request, one after the other."""
    found: dict[str, list[float]] = {}
    for name, addresses in wanted.items():
        for number in range(times):
            began = time.perf_counter()
            client.ask("GET", addresses[number % len(addresses)])
            found.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    return found


def steady(
    client: Client, wanted: dict[str, list[str]], seconds: float, rate: float = RATE
) -> dict[str, list[float]]:
    """Return the milliseconds of requests that are sent at a rate, whatever the answers take.

    Each counts from the moment at which it was to be sent, so that a queue of late ones shows.
    """
    chosen = random.Random(11)
    names = list(wanted)
    found: dict[str, list[float]] = {name: [] for name in names}
    lock = threading.Lock()
    began = time.perf_counter() + 0.5

    def send(number: int, name: str, address: str) -> None:
        due = began + number / rate
        time.sleep(max(0.0, due - time.perf_counter()))
        client.ask("GET", address)
        taken = (time.perf_counter() - due) * 1000
        with lock:
            found[name].append(taken)

    with ThreadPoolExecutor(_THREADS) as pool:
        sent = []
        for number in range(int(seconds * rate)):
            name = names[number % len(names)]
            sent.append(pool.submit(send, number, name, chosen.choice(wanted[name])))
        for one in sent:
            one.result()
    return found


def table(found: dict[str, list[float]]) -> Iterator[str]:
    every = [value for values in found.values() for value in values]
    for name, values in [*found.items(), ("all", every)]:
        if values:
            shares = (percentile(values, share) for share in (0.5, 0.95, 0.99))
            words = "  ".join(f"{value:7.1f}" for value in shares)
            yield f"{name[:40]:16} {len(values):5}  {words}  {max(values):7.1f}"
