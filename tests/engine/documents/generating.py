"""Random documents, contexts and decisions, for comparing the engine with simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

KEYS = ("a", "b", "c")
ITEMS = "items"
DEPTH = 2  # of lists in lists
_VALUES = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"]), st.booleans())
_TEMPLATES = st.sampled_from([f"{{{{{key}}}}}" for key in KEYS])
_PATHS = st.sampled_from([*KEYS, "new.one", "new.two"])

# Published in this order, before the workflow starts: type, key and payload.
events = st.lists(
    st.tuples(
        st.sampled_from(["paid", "sent"]), st.sampled_from(["1", "2"]), st.integers(0, 3)
    ).map(lambda drawn: (drawn[0], drawn[1], {"n": drawn[2]})),
    max_size=4,
)
HELPERS = ("helper_allows", "helper_blocks")

contexts = st.fixed_dictionaries(
    {ITEMS: st.lists(st.integers(0, 3), max_size=3)},
    optional={key: st.integers(0, 3) for key in KEYS},
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a document whose steps only lead forward, so that there are no cycles."""
    return {
        "workflow_id": "drawn",
        "version": "1",
        "name": "Drawn",
        "steps": draw(_lists("s", depth=DEPTH, in_parallel=False)),
    }


@st.composite
def _lists(draw: st.DrawFn, prefix: str, depth: int, *, in_parallel: bool) -> list[dict[str, Any]]:
    names = [f"{prefix}{number}" for number in range(draw(st.integers(1, 4)))]
    steps = []
    for number, name in enumerate(names):
        later = [] if in_parallel else names[number + 1 :]
        steps.append(draw(_steps(name, later, depth)))
    return steps


@st.composite
def _steps(draw: st.DrawFn, name: str, later: list[str], depth: int) -> dict[str, Any]:
    makers = [_condition, _set, _action, _approval, _requirement, _event_wait, _child]
    if depth > 0:
        makers += [_parallel, _foreach]
    target = st.none() | st.sampled_from(later) if later else st.none()

    def targets(*keys: str) -> dict[str, str]:
        drawn = {key: draw(target) for key in keys}
        return {key: value for key, value in drawn.items() if value is not None}

    make = draw(st.sampled_from(makers))
    return {"id": name, **make(_Drawing(draw, targets, name, depth))}


class _Drawing(NamedTuple):
    """What a step is drawn with."""

    draw: st.DrawFn
    targets: Callable[..., dict[str, str]]  # of these keys, some lead to a later step
    name: str
    depth: int  # of lists that may stand inside


def _condition(d: _Drawing) -> dict[str, Any]:
    condition = d.draw(_conditions())
    return {"type": "condition", "condition": condition, **d.targets("on_true", "on_false")}


def _set(d: _Drawing) -> dict[str, Any]:
    return {"type": "execute", "execute": d.draw(_actions()), **d.targets("next")}


def _action(d: _Drawing) -> dict[str, Any]:
    own = {
        "type": "action",
        "action": d.draw(st.sampled_from(["allow", "block"])),
        "execute": d.draw(_actions(least=0)),
        **d.targets("next"),
    }
    return own | ({"reason": "Because of {{a || 'nothing'}}"} if d.draw(st.booleans()) else {})


def _approval(d: _Drawing) -> dict[str, Any]:
    own = {"type": "approval", "role": "boss", **d.targets("on_true", "on_reject")}
    return own | (_timeout(d) if d.draw(st.booleans()) else {})


def _requirement(d: _Drawing) -> dict[str, Any]:
    return {
        "type": "action",
        "action": "block",
        "requires": {"type": "approval", "role": "boss"},
        "execute": d.draw(_actions(least=0)),
        **d.targets("on_true", "on_false"),
    }


def _event_wait(d: _Drawing) -> dict[str, Any]:
    own = {"type": "wait", **d.draw(_event_waits()), **d.targets("next")}
    # Only a step of the document itself may wait for ever: its trace ends there.
    return own | (_timeout(d) if d.depth < DEPTH or d.draw(st.booleans()) else {})


def _timeout(d: _Drawing) -> dict[str, Any]:
    return {"timeout": "1h", **d.targets("on_timeout")}


def _child(d: _Drawing) -> dict[str, Any]:
    return {
        "type": "workflow",
        "workflow": d.draw(st.sampled_from(HELPERS)),
        "context": {"given": d.draw(_VALUES | _TEMPLATES)},
        **d.targets("next"),
    }


def _parallel(d: _Drawing) -> dict[str, Any]:
    strategies = st.sampled_from(["all_must_pass", "any_can_pass", "best_effort"])
    return {
        "type": "parallel",
        "strategy": d.draw(strategies),
        "steps": d.draw(_lists(f"{d.name}p", d.depth - 1, in_parallel=True)),
        **d.targets("on_false"),
    }


def _foreach(d: _Drawing) -> dict[str, Any]:
    return {
        "type": "foreach",
        "items": f"{{{{{ITEMS}}}}}",
        "item_var": "item",
        "steps": d.draw(_lists(f"{d.name}f", d.depth - 1, in_parallel=False)),
        **d.targets("on_false"),
    }


@st.composite
def _event_waits(draw: st.DrawFn) -> dict[str, Any]:
    wait: dict[str, Any] = {"event": draw(st.sampled_from(["paid", "sent", "*"]))}
    if draw(st.booleans()):
        wait["key"] = draw(st.sampled_from(["1", "{{a}}"]))
    if draw(st.booleans()):
        wait["match"] = {
            "field": "event.n",
            "operator": draw(st.sampled_from(["eq", "gt"])),
            "value": draw(st.integers(0, 3) | _TEMPLATES),
        }
    return wait


def _conditions() -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(
            lambda key, operator, value: {"field": key, "operator": operator, "value": value},
            st.sampled_from(KEYS),
            st.sampled_from(["eq", "neq", "gt", "lte"]),
            st.integers(0, 3),
        ),
        st.builds(
            lambda key, value: {"field": key, "operator": "exists", "value": value},
            st.sampled_from(KEYS),
            st.booleans(),
        ),
    )


def _actions(least: int = 1) -> st.SearchStrategy[list[dict[str, Any]]]:
    action = st.builds(
        lambda path, value, optional: {
            "type": "set",
            "path": path,
            "value": value,
            "optional": optional,
        },
        _PATHS,
        _VALUES | _TEMPLATES,
        st.booleans(),
    )
    return st.lists(action, min_size=least, max_size=2)
