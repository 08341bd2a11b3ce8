"""The preferences of a viewer, in a cookie: the theme, and whether keyboard shortcuts are on."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

PREFERENCES_COOKIE = "geneva_preferences"
THEMES = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Preferences:
    theme: str = "auto"
    has_keys: bool = True

    @property
    def written(self) -> str:
        return f"{self.theme}.{'keys' if self.has_keys else 'no-keys'}"


def preferences_of(request: Request) -> Preferences:
    theme, _, keys = request.cookies.get(PREFERENCES_COOKIE, "").partition(".")
    return Preferences(theme if theme in THEMES else "auto", keys != "no-keys")
