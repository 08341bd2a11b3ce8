"""The Jinja2 environment: autoescaping, and the filters of `words`."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from geneva_drive.web.dashboard.shell import state_symbols, static_files, words
from geneva_drive.worker.identity import name_in

_CODE = re.compile(r"`([^`]+)`")
# The quoted parts of the sentences of `why()`: names of steps, commands, and moments in UTC.
_NAMES_AND_MOMENTS = re.compile(
    r"'([\w.:\[\]-]{1,191})'|`([^`]+)`|(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)", re.ASCII
)
_LEADING = re.compile(r"\A(Step|Node) (?=')")
_MOMENTS = {
    "auto": words.moment,
    "clock": words.clock,
    "day": words.day_and_clock,
    "near": words.near_clock,
    "exact": words.exact_clock,
    "weekday": words.weekday,
    "hour": words.hour,
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The values of the page for filters and macros, which do not see those of the template."""

    root: str
    now: datetime


_SURROUNDINGS: ContextVar[Surroundings] = ContextVar("surroundings")


def render_template(name: str, surroundings: Surroundings, **values: Any) -> str:
    token = _SURROUNDINGS.set(surroundings)
    try:
        return ENVIRONMENT.get_template(name).render(**values)
    finally:
        _SURROUNDINGS.reset(token)


def _url(path: str) -> str:
    return f"{_SURROUNDINGS.get().root}{path}"


def _static(name: str) -> str:
    return _url(static_files.address(name))


def _moment(at: datetime | None, form: str = "auto") -> Markup:
    """Return a `<time>` in UTC; the script of the page converts it to the viewer's zone."""
    if at is None:
        return Markup("")
    utc = at.astimezone(UTC)
    text = _MOMENTS[form](utc, _SURROUNDINGS.get().now)
    iso = utc.isoformat(timespec="seconds").replace("+00:00", "Z")
    return Markup('<time datetime="{}" data-form="{}">{}</time>').format(iso, form, text)


def _sentence(text: str) -> Markup:
    """Return a sentence with its `names` in code; everything else is text."""
    safe = str(escape(text))
    return Markup(_CODE.sub(r"<code>\1</code>", safe))


def _why(text: str) -> Markup:
    """Return a sentence of `why()`: its names in code, its moments in the viewer's zone."""
    bare = _LEADING.sub("", text)
    parts: list[Markup | str] = []
    place = 0
    for found in _NAMES_AND_MOMENTS.finditer(bare):
        parts.append(bare[place : found.start()])
        name, stamp = found[1] or found[2], found[3]
        if stamp is None:
            parts.append(Markup("<code>{}</code>").format(name))
        else:
            at = datetime.fromisoformat(stamp.removesuffix(" UTC")).replace(tzinfo=UTC)
            is_deadline = bare[: found.start()].endswith("until ")
            parts.append(_moment(at, "near" if is_deadline else "clock"))
        place = found.end()
    return Markup("").join([*parts, bare[place:]])


def _once() -> str:
    return secrets.token_urlsafe(12)


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("geneva_drive.web.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        number=words.number,
        duration=words.duration,
        time_left=words.time_left,
        plural=words.plural,
        moment=_moment,
        state=words.state_word,
        sentence=_sentence,
        why=_why,
        cut=words.cut,
        initials=words.initials,
        short_path=words.short_path,
        state_glyph=state_symbols.state_glyph,
        state_hue=state_symbols.state_hue,
        need_hue=state_symbols.need_hue,
        worker_name=name_in,
    )
    made.globals.update(url=_url, static=_static, once=_once)
    return made


ENVIRONMENT = _environment()
