"""Which Drive a command works with: `--app` and `--database`, before or after its name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from geneva_drive.cli.app import load_app
from geneva_drive.cli.database_file import explain_file_errors
from geneva_drive.drive.default_drive import configure, current_drive
from geneva_drive.drive.drive import Drive

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class DriveOptions:
    """What the user said about where the workflows are."""

    app: str | None = None
    database: str | None = None

    def drive(self) -> Drive:
        """Import the app, and give the Drive it names, the default one, or that of --database."""
        named = load_app(self.app) if self.app else None
        drive = named or current_drive()
        if self.database is None:
            return drive
        # The app's settings stay: another table prefix, say, would find no tables there.
        settings = {f.name: getattr(drive.settings, f.name) for f in fields(drive.settings)}
        return configure(self.database, **settings)


def drive_options(function: F) -> F:
    """Add --app, which the environment may give as well, and --database."""
    return _options(function, app_variable="GENEVA_APP")


def with_drive(function: Callable[Concatenate[Drive, P], R]) -> Callable[P, R]:
    """Pass the Drive as the first argument, and let --app and --database follow the command."""

    @functools.wraps(function)
    def opened(options: DriveOptions, /, *args: P.args, **kwargs: P.kwargs) -> R:
        drive = options.drive()
        with explain_file_errors(drive):
            return function(drive, *args, **kwargs)

    return with_drive_options(opened)


def with_drive_options(function: Callable[Concatenate[DriveOptions, P], R]) -> Callable[P, R]:
    """Pass what the user said, for a command that may not need a Drive in its own process."""

    @functools.wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        options = click.get_current_context().ensure_object(DriveOptions)
        return function(options, *args, **kwargs)

    # Without the environment, which would win over what was said before the command's name.
    return _options(told, app_variable=None)


def _options(function: F, *, app_variable: str | None) -> F:
    # GENEVA_DATABASE_URL is not read here: it is for the default Drive; an app may have its own.
    database = click.option(
        "--database",
        metavar="URL",
        help="The database, in place of the app's own. GENEVA_DATABASE_URL is for apps that name "
        "none.",
        expose_value=False,
        callback=_keep,
    )
    app = click.option(
        "--app",
        metavar="MODULE[:DRIVE]",
        envvar=app_variable,
        help="Your code: the module that imports the workflow classes. [or GENEVA_APP]",
        expose_value=False,
        callback=_keep,
    )
    return app(database(function))


def _keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    options = context.ensure_object(DriveOptions)
    if value is not None:
        setattr(options, str(parameter.name), value)
