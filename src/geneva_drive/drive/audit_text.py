"""The actors and reasons that users pass, as text that every database stores."""

from __future__ import annotations

from typing import Any

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json

_MAX_ACTOR_LENGTH = 255


def actor(command: str, value: Any) -> str | None:
    text = _checked(command, "actor", value)
    if text is not None and len(text) > _MAX_ACTOR_LENGTH:
        raise InvalidInput(
            f"The actor must be at most {_MAX_ACTOR_LENGTH} characters long, got {len(text)}."
        )
    return text


def required_actor(command: str, value: Any) -> str:
    text = actor(command, value)
    if not text:
        raise InvalidInput(
            f"{command}() needs actor=..., the person or program that does it; in the shell, "
            f"--actor NAME."
        )
    return text


def reason(command: str, value: Any) -> str | None:
    return _checked(command, "reason", value)


def comment(command: str, value: Any, longest: int) -> str | None:
    text = _checked(command, "comment", value)
    if text is not None and len(text) > longest:
        raise InvalidInput(
            f"{command}(comment=...) must be at most {longest:,} characters long, got "
            f"{len(text):,}. The limit is the setting max_payload_size."
        )
    return text


def notes(command: str, value: Any) -> str | None:
    return _checked(command, "notes", value)


def _checked(command: str, argument: str, value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInput(f"{command}({argument}=...) must be text, got {shown(value)}.")
    return typed_json.safe_text(value)
