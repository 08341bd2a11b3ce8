"""What a run found, and its file."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

Medians = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure of one round."""

    round: int
    system: str
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class Failure:
    """What kept a system from giving its figures in one round."""

    round: int
    system: str
    workloads: tuple[str, ...]
    message: str


@dataclass(slots=True)
class Results:
    """The samples of one run, the circumstances, and what failed or was left out."""

    scale: str
    started_at: str
    facts: dict[str, Any] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)  # what each trial took, start to end

    def medians(self) -> dict[tuple[str, str], float]:
        """The median over the rounds, by measure and system."""
        values: dict[tuple[str, str], list[float]] = defaultdict(list)
        for sample in self.samples:
            values[sample.measure, sample.system].append(sample.value)
        return {key: median(found) for key, found in values.items()}

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        stamp = self.started_at[:19].replace(":", "")
        path = folder / f"{stamp}-{self.scale}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def read(path: Path) -> Results:
    """Read back what `Results.write` wrote."""
    content = json.loads(path.read_text())
    samples = [Sample(**sample) for sample in content.pop("samples")]
    failures = [
        Failure(**{**failure, "workloads": tuple(failure["workloads"])})
        for failure in content.pop("failures")
    ]
    return Results(**content, samples=samples, failures=failures)
