"""Random documents, contexts and decisions, for comparing the engine with simulations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KEYS = ("a", "b", "c")
ITEMS = "items"
_VALUES = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"]), st.booleans())
_TEMPLATES = st.sampled_from([f"{{{{{key}}}}}" for key in KEYS])
_PATHS = st.sampled_from([*KEYS, "new.one", "new.two"])

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
        "steps": draw(_lists("s", depth=2, in_parallel=False)),
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
    kinds = ["condition", "set", "action", "approval", "requires"]
    if depth > 0:
        kinds += ["parallel", "foreach"]
    kind = draw(st.sampled_from(kinds))
    target = st.none() | st.sampled_from(later) if later else st.none()

    def targets(*keys: str) -> dict[str, str]:
        drawn = {key: draw(target) for key in keys}
        return {key: value for key, value in drawn.items() if value is not None}

    own: dict[str, Any]
    match kind:
        case "condition":
            own = {
                "type": "condition",
                "condition": draw(_conditions()),
                **targets("on_true", "on_false"),
            }
        case "set":
            own = {"type": "execute", "execute": draw(_actions()), **targets("next")}
        case "action":
            word = draw(st.sampled_from(["allow", "block"]))
            own = {
                "type": "action",
                "action": word,
                "execute": draw(_actions(least=0)),
                **targets("next"),
            }
            if draw(st.booleans()):
                own["reason"] = "Because of {{a || 'nothing'}}"
        case "approval":
            own = {"type": "approval", "role": "boss", **targets("on_true", "on_reject")}
        case "requires":
            own = {
                "type": "action",
                "action": "block",
                "requires": {"type": "approval", "role": "boss"},
                "execute": draw(_actions(least=0)),
                **targets("on_true", "on_false"),
            }
        case "parallel":
            strategy = draw(st.sampled_from(["all_must_pass", "any_can_pass", "best_effort"]))
            inner = draw(_lists(f"{name}p", depth - 1, in_parallel=True))
            own = {"type": "parallel", "strategy": strategy, "steps": inner, **targets("on_false")}
        case _:
            inner = draw(_lists(f"{name}f", depth - 1, in_parallel=False))
            own = {
                "type": "foreach",
                "items": f"{{{{{ITEMS}}}}}",
                "item_var": "item",
                "steps": inner,
                **targets("on_false"),
            }
    return {"id": name, **own}


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
