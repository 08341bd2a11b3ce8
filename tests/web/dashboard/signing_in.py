"""A browser that signs in as a person would."""

from __future__ import annotations

import re
from typing import Any

from fastapi.testclient import TestClient

import geneva_drive as gd

_TOKEN = re.compile(r'name="csrf" value="([^"]*)"')


class Browser:
    """A client with cookies that fills in forms."""

    def __init__(self, app: Any, root: str = "") -> None:
        self.client = TestClient(
            app, root_path="", raise_server_exceptions=False, follow_redirects=False
        )
        self.root = root

    def get(self, path: str, **options: Any) -> Any:
        return self.client.get(self.root + path, **options)

    def post(self, path: str, fields: dict[str, Any] | None = None, **options: Any) -> Any:
        """Send a form with the token of this browser's pages."""
        return self.client.post(
            self.root + path, data={"csrf": self.token, **(fields or {})}, **options
        )

    @property
    def token(self) -> str:
        found = _TOKEN.search(self.get("/login").text)
        assert found is not None
        return found[1]

    def sign_in(self, secret: str, **fields: str) -> Any:
        return self.post("/login", {"key": secret, **fields})


def signed_in(app: Any, drive: gd.Drive, *roles: str, name: str = "ann", root: str = "") -> Browser:
    browser = Browser(app, root)
    answer = browser.sign_in(drive.keys.create(name, (), roles).secret)
    assert answer.status_code == 303, answer.text
    return browser
