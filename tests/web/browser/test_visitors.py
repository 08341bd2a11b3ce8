"""The windows of these tests report what they are there to find."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error

from tests.web.browser.visitors import Visitors, findings_of_axe


def test_errors_and_requests_to_other_hosts_are_noticed(visitors: Visitors) -> None:
    page = visitors.open("/login")

    page.evaluate("console.error('a fault')")
    page.evaluate("setTimeout(() => { throw new Error('lost') })")
    page.wait_for_function("performance.now() > 0")
    page.locator("h1").evaluate("one => { one.style.color = '#eee' }")

    serious = findings_of_axe(page)
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        page.goto("http://elsewhere.example/")

    faults = [fault.partition(" (")[0] for fault in visitors.faults]
    assert "error: a fault" in faults
    assert "request to another host: http://elsewhere.example/" in faults
    assert any(fault.startswith("exception: lost") for fault in faults), faults
    assert serious[0].startswith("color-contrast")
    visitors.faults.clear()
