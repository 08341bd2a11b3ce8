"""A viewer watches a batch: its workers, its items and its end, without a reload."""

from __future__ import annotations

from playwright.sync_api import expect

import geneva_drive as gd
from tests.web.browser.visitors import Visitors
from tests.web.browser.workflows import Printing, tickets_to_print


def test_a_batch_is_watched_until_it_is_done(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    workflow = Printing.using(sqlite_drive).create()
    page = visitors.sign_in("viewer", path=f"/workflows/{workflow.id}")
    page.evaluate("window.isTheFirstPage = true")

    with sqlite_drive.worker(concurrency=2):
        batch = page.get_by_role("region", name="sheets")
        expect(batch).to_contain_text("0 of 8 items")
        expect(batch.get_by_role("row", name="print_sheet_001")).to_contain_text("in progress")
        tickets_to_print.release(3)
        expect(batch).to_contain_text("2 of 8 items")  # those with a checkpoint
        tickets_to_print.release(1)
        expect(batch.get_by_role("listitem")).to_have_text(["1 worker completed", "1 running"])
        expect(batch.get_by_role("row", name="print_sheet_001")).to_contain_text("completed")
        expect(batch.get_by_role("row", name="print_sheet_002")).to_contain_text("in progress")
        tickets_to_print.release(4)
        expect(page.locator("#header")).to_contain_text("finished")

    expect(batch).to_contain_text("100 %")
    expect(batch).to_contain_text("8 of 8 items")
    assert page.evaluate("window.isTheFirstPage") is True
