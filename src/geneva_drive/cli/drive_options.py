"""The options `--app` and `--database`, before or after the command's name, and their Drive."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from geneva_drive.cli import drive_choice
from geneva_drive.cli.app import load_app
from geneva_drive.drive.default_drive import configure, current_drive
from geneva_drive.drive.drive import Drive

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class DriveOptions:
    """The values of `--app` and `--database`."""

    app: str | None = None
    database: str | None = None

    def drive(self) -> Drive:
        """Import the app; return the Drive it names, the default one, or one for --database."""
        app = load_app(self.app) if self.app else None
        drive = (app.drive if app else None) or current_drive()
        if self.database is None:
            if app is not None:
                drive_choice.check(app, drive)
            return drive
        # Keep the app's settings: with another table prefix, the tables would not be found.
        settings = {f.name: getattr(drive.settings, f.name) for f in fields(drive.settings)}
        return configure(self.database, **settings)


def drive_options(function: F) -> F:
    """Add --app (or GENEVA_APP) and --database."""
    return _options(function, app_variable="GENEVA_APP")


def with_drive(function: Callable[Concatenate[Drive, P], R]) -> Callable[P, R]:
    """Pass the Drive as the first argument, and allow --app and --database after the command."""

    @functools.wraps(function)
    def opened(options: DriveOptions, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(options.drive(), *args, **kwargs)

    return with_drive_options(opened)


def with_drive_options(function: Callable[Concatenate[DriveOptions, P], R]) -> Callable[P, R]:
    """Pass the options instead of a Drive, for a command that may not need one."""

    @functools.wraps(function)
    def with_options(*args: P.args, **kwargs: P.kwargs) -> R:
        options = click.get_current_context().ensure_object(DriveOptions)
        return function(options, *args, **kwargs)

    # If GENEVA_APP were read here, it would win over an --app before the command's name.
    return _options(with_options, app_variable=None)


def _options(function: F, *, app_variable: str | None) -> F:
    # GENEVA_DATABASE_URL is not read here: it is for the default Drive, not for an app's own.
    database = click.option(
        "--database",
        metavar="URL",
        help="The database to use instead of the app's. GENEVA_DATABASE_URL applies only to apps "
        "that name none.",
        expose_value=False,
        callback=_keep,
    )
    app = click.option(
        "--app",
        metavar="MODULE[:DRIVE]",
        envvar=app_variable,
        help="The module that imports your workflow classes. [or GENEVA_APP]",
        expose_value=False,
        callback=_keep,
    )
    return app(database(function))


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    options = context.ensure_object(DriveOptions)
    if value is not None:
        setattr(options, str(parameter.name), value)
