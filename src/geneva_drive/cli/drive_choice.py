"""The check that the Drive of an app is the one that the user expects."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click
from sqlalchemy.engine import URL

from geneva_drive.cli.app import App, AppNotUsable
from geneva_drive.drive.default_drive import is_implied
from geneva_drive.drive.drive import Drive
from geneva_drive.storage.connections.engine import NotADatabaseURL, parse_url


def check(app: App, drive: Drive) -> None:
    """Refuse an app that names no default Drive; warn if another database might be meant."""
    if app.drive is None:
        _check_drives(app, drive)
    if _is_overruled(os.environ.get("GENEVA_DATABASE_URL"), drive):
        _warn(
            f"GENEVA_DATABASE_URL is not used, because the app names its own database: "
            f"{drive.database_url}. For another database, pass --database, or call gd.configure() "
            f"in the app without a URL."
        )


def _check_drives(app: App, drive: Drive) -> None:
    others = {name: one for name, one in app.drives().items() if one is not drive}
    if not others:
        return
    module = app.module.__name__
    if is_implied(drive):
        raise AppNotUsable(
            module,
            f"it does not call gd.configure(), so it has no default Drive. Name its Drive: "
            f"{_listed(f'--app {module}:{name}' for name in others)}.",
        )
    further = _listed(f"--app {module}:{name} ({one.database_url})" for name, one in others.items())
    _warn(
        f"--app {module!r} has several Drives. The default is used: {drive.database_url}. To use "
        f"another, pass {further}."
    )


def _is_overruled(variable: str | None, drive: Drive) -> bool:
    if not variable:
        return False
    try:
        return _place(parse_url(variable)) != _place(drive.engine.url)
    except NotADatabaseURL:
        return True


def _place(url: URL) -> tuple[str, str | None, int | None, str | None]:
    return url.get_backend_name(), url.host, url.port, url.database


def _listed(choices: Iterable[str]) -> str:
    return " or ".join(choices)


def _warn(text: str) -> None:
    click.echo(f"geneva: {text}", err=True)
