"""The `asgi.py` of the REST guide serves a Django project and the API side by side."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "rest.md").read_text()
ASGI = re.search(r"^```py\n(# project/asgi\.py\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

SETTINGS = """
SECRET_KEY = "only for this test"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "project.urls"
"""
URLS = """
from django.http import HttpResponse
from django.urls import path

urlpatterns = [path("basket", lambda request: HttpResponse("The basket is empty."))]
"""
ASK = """
from starlette.testclient import TestClient

from project.asgi import application, drive

drive.migrate()
key = drive.keys.create("ann", roles=["viewer"])
client = TestClient(application, follow_redirects=False)
print(client.get("/basket").text)
print(client.get("/geneva/health").json())
print(client.get("/geneva/api/v1/executions").status_code)
as_ann = {"Authorization": f"Bearer {key.secret}"}
print(client.get("/geneva/api/v1/executions", headers=as_ann).json())
print(client.get("/geneva/").headers["location"])
"""


def test_django_and_the_api_are_served_side_by_side(tmp_path: Path) -> None:
    assert ASGI is not None
    project = tmp_path / "project"
    project.mkdir()
    (project / "settings.py").write_text(SETTINGS)
    (project / "urls.py").write_text(URLS)
    (project / "asgi.py").write_text(ASGI[1])

    done = subprocess.run(
        [sys.executable, "-c", ASK],
        cwd=tmp_path,
        env={**os.environ, "GENEVA_DATABASE_URL": f"sqlite:///{tmp_path / 'geneva.db'}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [
        "The basket is empty.",
        "{'status': 'ok'}",
        "401",
        "{'items': [], 'next_cursor': None}",
        "/geneva/login",
    ]
