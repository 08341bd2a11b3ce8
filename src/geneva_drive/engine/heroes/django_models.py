"""Django models as heroes, without importing Django."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from geneva_drive.errors import InvalidInput
from geneva_drive.serialization import typed_json


def is_model(given: type) -> bool:
    """True for a Django model; a project with models has imported `django.db.models`."""
    models = sys.modules.get("django.db.models")
    return models is not None and issubclass(given, models.Model)


def key_of(hero: Any) -> tuple[Any, ...]:
    """Return a saved record's primary key; raises for an unsaved one, whose key may change."""
    if hero._state.adding or hero.pk is None:
        raise InvalidInput(
            f"The hero {type(hero).__name__} is not saved yet. Save it, and create the workflow "
            f"once that is committed, as in transaction.on_commit(lambda: ...)."
        )
    return hero.pk if isinstance(hero.pk, tuple) else (hero.pk,)


def find(hero_type: str, type_of: Callable[[type], str]) -> type | None:
    """Return the model of a hero type in the installed apps; None before Django is set up."""
    registry = sys.modules.get("django.apps")
    if registry is None or not registry.apps.models_ready:
        return None
    found = [model for model in registry.apps.get_models() if type_of(model) == hero_type]
    if len(found) > 1:
        raise InvalidInput(
            f"Several Django models are heroes of type {hero_type!r}: "
            f"{', '.join(f'{model.__module__}.{model.__name__}' for model in found)}. Declare the "
            f"workflow's class as gd.Workflow[{found[0].__name__}], or set __geneva_type__ in one "
            f"of the models."
        )
    return found[0] if found else None


def load(model: Any, hero_id: str) -> Any:
    """Return a record, or None if it was deleted."""
    # Keys of several fields came with Django 5.2.
    is_compound = len(getattr(model._meta, "pk_fields", ())) > 1
    key = tuple(typed_json.load(hero_id)) if is_compound else hero_id
    db = sys.modules["django.db"]
    # A worker's thread lives longer than a request: its connection may be lost or too old.
    db.close_old_connections()
    # Not from a replica: a record that it does not have yet would count as deleted.
    alias = db.router.db_for_write(model)
    return model._base_manager.using(alias).filter(pk=key).first()
