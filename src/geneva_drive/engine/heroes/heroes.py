"""Convert heroes into references, and load them by their references."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, get_args
from uuid import UUID

from sqlalchemy import Connection, inspect

from geneva_drive.definition.heroes import HeroRef, loader_of
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.heroes import django_models
from geneva_drive.errors import HeroGone, InvalidInput
from geneva_drive.serialization import typed_json

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

MAX_ID_LENGTH = 255


def reference_to(hero: object, session: Session | None = None) -> HeroRef | None:
    """Return the type and id of a hero; flush `session` first if the hero is pending in it."""
    if hero is None or isinstance(hero, HeroRef):
        return _checked(hero)
    if django_models.is_model(type(hero)):
        return _named(hero, django_models.key_of(hero))
    state: Any = inspect(hero, raiseerr=False)
    if getattr(state, "is_instance", False) is not True:
        raise InvalidInput(
            f"A hero is a SQLAlchemy-mapped object, a Django model instance or a gd.HeroRef, not "
            f"{shown(hero)}."
        )
    if session is not None and state.pending:
        session.flush()
    # Not the attributes: a commit expires them, and reading them would be a query.
    key = state.identity or state.mapper.primary_key_from_instance(hero)
    if any(part is None for part in key):
        raise InvalidInput(
            f"The hero {type(hero).__name__} has no key yet. Add it to its session and pass that "
            f"to create(session=...), or commit it first."
        )
    return _named(hero, tuple(key))


def _named(hero: object, key: tuple[Any, ...]) -> HeroRef | None:
    _mapped_classes[type_of(type(hero))] = type(hero)
    return _checked(HeroRef(type_of(type(hero)), _key_text(key)))


def type_of(mapped_class: type) -> str:
    return str(getattr(mapped_class, "__geneva_type__", mapped_class.__name__))


def _checked(hero: HeroRef | None) -> HeroRef | None:
    if hero is not None and len(hero.id) > MAX_ID_LENGTH:
        raise InvalidInput(
            f"The id of hero type {hero.type!r} is {len(hero.id)} characters long; at most "
            f"{MAX_ID_LENGTH} can be stored."
        )
    return hero


def _key_text(key: tuple[Any, ...]) -> str:
    return str(key[0]) if len(key) == 1 else typed_json.dump(list(key))


# Classes seen as heroes in this process. Imperatively mapped ones can be found only here: they have
# no declarative base.
_mapped_classes: dict[str, type] = {}


def is_checkable(workflow_class: type[Workflow[Any, Any]], hero_type: str) -> bool:
    """True if this process can tell whether a hero of this type still exists."""
    return loader_of(hero_type) is not None or _class_for(workflow_class, hero_type) is not None


def load(
    environment: Environment,
    workflow_class: type[Workflow[Any, Any]] | None,
    hero_type: str | None,
    hero_id: str | None,
    session: Session | None = None,
) -> Any:
    """Return a hero; raises `HeroGone` if it was deleted.

    A mapped hero belongs to `session`, the session of a step with `transaction=True`. Without one
    it is detached, and so are all heroes of a `session_factory`, which may use another database.
    """
    if hero_type is None or hero_id is None:
        return None
    loader = loader_of(hero_type)
    database = environment.store.database
    if loader is not None:
        hero = database.patiently(lambda: loader(hero_id))
        return _existing(hero, hero_type, hero_id)
    mapped = _class_for(workflow_class, hero_type)
    if mapped is None:
        return HeroRef(hero_type, hero_id)
    if django_models.is_model(mapped):
        return _existing(django_models.load(mapped, hero_id), hero_type, hero_id)
    key = _parse_key(mapped, hero_id)
    factory = environment.settings.session_factory
    if factory is None and session is not None:
        hero = database.patiently(lambda: session.get(mapped, key))
    elif factory is not None:
        hero = database.patiently(lambda: _get_by(factory, mapped, key))
    else:
        hero = environment.store.read(lambda connection: _get(connection, mapped, key))
    return _existing(hero, hero_type, hero_id)


def _get(connection: Connection, mapped: type, key: Any) -> Any:
    # Imported here because it takes as long as all other imports; mapped heroes have imported it.
    from sqlalchemy.orm import Session

    with Session(
        connection, join_transaction_mode="create_savepoint", expire_on_commit=False
    ) as session:
        return _detached(session, mapped, key)


def _get_by(factory: Callable[[], Any], mapped: type, key: Any) -> Any:
    with factory() as session:
        return _detached(session, mapped, key)


def _detached(session: Any, mapped: type, key: Any) -> Any:
    hero = session.get(mapped, key)
    if hero is not None:
        session.expunge(hero)
    return hero


def _existing(hero: Any, hero_type: str, hero_id: str) -> Any:
    if hero is None:
        raise HeroGone(hero_type, hero_id)
    return hero


def _class_for(workflow_class: type[Workflow[Any, Any]] | None, hero_type: str) -> type | None:
    declared = _declared_hero(workflow_class)
    if declared is not None and type_of(declared) == hero_type:
        return declared
    if hero_type not in _mapped_classes:
        for mapped in _declarative_classes():
            _mapped_classes.setdefault(type_of(mapped), mapped)
    return _mapped_classes.get(hero_type) or django_models.find(hero_type, type_of)


def _declared_hero(workflow_class: type[Workflow[Any, Any]] | None) -> type | None:
    """Return `User` for `class Signup(gd.Workflow[User])`."""
    for base in workflow_class.__mro__ if workflow_class else ():
        for parent in getattr(base, "__orig_bases__", ()):
            for argument in get_args(parent):
                if isinstance(argument, type) and _is_mapped(argument):
                    return argument
    return None


def _is_mapped(given: type) -> bool:
    if django_models.is_model(given):
        return True
    return getattr(inspect(given, raiseerr=False), "is_mapper", False)


def _declarative_classes() -> Iterator[type]:
    orm = sys.modules.get("sqlalchemy.orm")
    for root in (orm.DeclarativeBase, orm.DeclarativeBaseNoMeta) if orm else ():
        for base in root.__subclasses__():
            for mapper in base.registry.mappers:
                yield mapper.class_


def _parse_key(mapped: type, hero_id: str) -> Any:
    columns: tuple[Any, ...] = inspect(mapped).primary_key
    if len(columns) > 1:
        return tuple(typed_json.load(hero_id))
    try:
        kind = columns[0].type.python_type
    except NotImplementedError:
        return hero_id
    return kind(hero_id) if kind in (int, UUID) else hero_id
