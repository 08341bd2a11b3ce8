"""The options that only batches and maps have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

from geneva_drive import checks
from geneva_drive.definition.options.tolerate import Tolerate
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError
from geneva_drive.states import FailureStrategy

FailureStrategyName = Literal["fail_fast", "continue_on_failure", "isolate"]

DEFAULT_CHECKPOINT_INTERVAL = 1000
MAX_PARALLELISM = 2**31 - 1  # the largest number of the column


class ExpansionOptions(TypedDict, total=False):
    """The keywords that `@gd.batch` and `gd.map` share, beside those of a step."""

    parallelism: int | None
    failure_strategy: FailureStrategyName | FailureStrategy
    tolerate: Tolerate | None


class CheckpointOptions(TypedDict, total=False):
    checkpoint_interval: int


class BatchTerms(ExpansionOptions, CheckpointOptions, total=False):
    """The keywords of `w.batch` that are not about its jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionTerms:
    """How the workers of a batch or a map run."""

    parallelism: int | None = None  # workers at once, over all processes; None: all of them
    failure_strategy: FailureStrategy = FailureStrategy.FAIL_FAST
    tolerate: Tolerate | None = None
    checkpoint_interval: int = DEFAULT_CHECKPOINT_INTERVAL  # of a batch, in items


def parse(given: Mapping[str, Any]) -> ExpansionTerms:
    return ExpansionTerms(
        parallelism=parse_parallelism(given.get("parallelism")),
        failure_strategy=_failure_strategy(given.get("failure_strategy", "fail_fast")),
        tolerate=_tolerate(given.get("tolerate")),
        checkpoint_interval=checks.whole_number(
            "checkpoint_interval",
            given.get("checkpoint_interval", DEFAULT_CHECKPOINT_INTERVAL),
            at_least=1,
            error=StepConfigurationError,
        ),
    )


def parse_parallelism(value: object) -> int | None:
    if value is None:
        return None
    return checks.whole_number(
        "parallelism", value, at_least=1, at_most=MAX_PARALLELISM, error=StepConfigurationError
    )


def _failure_strategy(value: object) -> FailureStrategy:
    words = [str(each) for each in FailureStrategy]
    close = get_close_matches(value, words, 1) if isinstance(value, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return FailureStrategy(
        checks.choice("failure_strategy", value, words, error=StepConfigurationError, hint=hint)
    )


def _tolerate(value: object) -> Tolerate | None:
    if value is None or isinstance(value, Tolerate):
        return value
    raise StepConfigurationError(
        f"tolerate takes a gd.Tolerate, not {shown(value)}: write tolerate=gd.Tolerate(workers=1)."
    )
