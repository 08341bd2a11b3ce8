"""The user's code, imported as `--app package.module[:drive]`."""

from __future__ import annotations

import importlib
import os
import re
import sys
from dataclasses import dataclass
from types import ModuleType

from geneva_drive.cli.output.error_line import with_place
from geneva_drive.display import shown
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput
from geneva_drive.settings import Settings

_FORM = re.compile(r"(?P<module>\w+(\.\w+)*)(:(?P<attribute>\w+))?")


class AppNotUsable(InvalidInput):
    """The value of `--app` cannot be used."""

    def __init__(self, app: str, why: str) -> None:
        self.app = app
        super().__init__(f"--app {shown(app)}: {why}")


@dataclass(frozen=True, slots=True)
class App:
    """The imported module, and the Drive named after the colon, if any."""

    module: ModuleType
    drive: Drive | None

    def drives(self) -> dict[str, Drive]:
        """Return the module's Drives by name, without duplicates."""
        found: dict[Drive, str] = {}
        for name, value in vars(self.module).items():
            if isinstance(value, Drive):
                found.setdefault(value, name)
        return {name: drive for drive, name in found.items()}


def load_app(app: str) -> App:
    """Import the module, and look up the Drive that `app` names."""
    form = _FORM.fullmatch(app)
    if form is None:
        raise AppNotUsable(app, "write it as package.module or package.module:drive.")
    module = _import(app, form["module"])
    attribute = form["attribute"]
    return App(module, None if attribute is None else _drive_in(app, module, attribute))


def _import(app: str, name: str) -> ModuleType:
    folder = os.getcwd()
    if folder not in sys.path:
        # `python -m` adds the current directory to the path; a console script does not.
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name.endswith(".py"):
            meant = app.replace(name, name.removesuffix(".py"), 1)
            raise AppNotUsable(app, f"write it without .py: --app {meant}.") from error
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise AppNotUsable(
                app,
                f"there is no module {error.name!r} in the current directory or on the Python "
                f"path.",
            ) from error
        raise _not_importable(app, name, error) from error
    except InvalidInput as error:
        # A setting with a wrong value is not the module's fault: raise the error of the setting.
        Settings.read({}, os.environ)
        raise _not_importable(app, name, error) from error
    except Exception as error:
        # The app's code may raise anything on import.
        raise _not_importable(app, name, error) from error


def _not_importable(app: str, name: str, error: Exception) -> AppNotUsable:
    return AppNotUsable(app, f"module {name!r} cannot be imported. {with_place(error)}.")


def _drive_in(app: str, module: ModuleType, attribute: str) -> Drive:
    if not hasattr(module, attribute):
        raise AppNotUsable(app, f"module {module.__name__!r} has no {attribute!r}.")
    found = getattr(module, attribute)
    if not isinstance(found, Drive):
        raise AppNotUsable(
            app, f"{attribute!r} must be a gd.Drive, got a {type(found).__qualname__}."
        )
    return found
