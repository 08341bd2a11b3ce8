from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Semaphore
from typing import Any

import httpx2
from sqlalchemy import event

import geneva_drive as gd
from tests.web.served import served
from tests.web.shop import Parcel

READY = Semaphore(0)


def hint(url: str, key: str) -> str:
    """Return the first hint that comes after the greeting."""
    headers = {"Authorization": f"Bearer {key}"}
    with httpx2.stream("GET", f"{url}/api/v1/stream", headers=headers, timeout=60) as answer:
        lines = (line for line in answer.iter_lines() if line.startswith("data: {"))
        assert next(lines) == "data: {}"
        READY.release()
        return next(lines)


def test_every_viewer_is_told_what_changed_and_the_database_is_asked_once(
    geneva: gd.Drive,
) -> None:
    key = geneva.keys.create("ann", roles=["viewer"]).secret
    asked: Counter[str] = Counter()

    def count(_: Any, __: Any, statement: str, *___: Any) -> None:
        asked["marks"] += "dead_letters" in statement

    with served(gd.asgi(geneva)) as url, ThreadPoolExecutor(20) as pool:
        viewers = [pool.submit(hint, url, key) for _ in range(20)]
        for _ in viewers:
            READY.acquire()
        event.listen(geneva.engine, "before_cursor_execute", count)
        while asked["marks"] < 2:  # the reader has seen what there was before
            pass
        Parcel.using(geneva).create(context={"address": "Rue 1"})
        told = {viewer.result(60) for viewer in viewers}
        event.remove(geneva.engine, "before_cursor_execute", count)

    assert told == {'data: {"changed": ["executions", "steps"]}'}
    assert asked["marks"] < 20
