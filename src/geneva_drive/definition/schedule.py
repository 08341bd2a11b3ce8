"""Schedules: the times at which workers start workflows of a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from geneva_drive import checks
from geneva_drive.definition.compiler import code_location
from geneva_drive.display import shown
from geneva_drive.durations import Duration
from geneva_drive.errors import InvalidInput, StepConfigurationError
from geneva_drive.states import MissedRuns, Overlap

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from geneva_drive.definition.context_type import ContextType

OverlapName = Literal["skip", "queue", "cancel_running", "allow"]
MissedName = Literal["latest", "skip", "all"]

_MAX_LINE_LENGTH = 191
_FIELDS = "minute, hour, day of month, month and day of week, such as '0 9 * * 1-5'"
# Any year will do: weekdays repeat after 28 years, and cronsim searches 50 years.
_SOME_DAY = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A schedule as its class declares it, checked."""

    line: str
    timezone: str
    overlap: Overlap
    missed: MissedRuns
    jitter: timedelta | None

    def moments_after(self, moment: datetime) -> Iterator[datetime]:
        """Yield the moments after this one at which the schedule fires, in order, in UTC."""
        # Imported here because only a process with a schedule needs it.
        from cronsim import CronSim

        for local in CronSim(self.line, moment.astimezone(self.zone)):
            found = local.astimezone(UTC)
            # When clocks are set back, cronsim yields moments of the first repeated hour again.
            if found > moment:
                moment = found
                yield found

    @property
    def zone(self) -> ZoneInfo:
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            return ZoneInfo(self.timezone)
        except ZoneInfoNotFoundError:
            raise InvalidInput(
                f"This machine does not know the time zone {self.timezone!r}, which another "
                f"process has stored. Update its time zones, or the package tzdata."
            ) from None

    def first_after(self, moment: datetime) -> datetime | None:
        return next(self.moments_after(moment), None)


def cron(
    line: str,
    *,
    timezone: str = "UTC",
    overlap: OverlapName | Overlap = "skip",
    missed: MissedName | MissedRuns = "latest",
    jitter: Duration | None = None,
) -> Cron:
    """Declare when workers start a workflow of a class: the value of its attribute `schedule`.

    `line` has the five fields of cron, or six with the second first, in the time of `timezone`.
    `overlap` says what happens while the workflow of the last run is ongoing: "skip", "queue",
    "cancel_running" or "allow". `missed` says which of the runs missed while no worker was running
    are still started: "latest", "skip" or "all". `jitter` spreads the starts over a span of time.
    Each run is fired once, whatever the number of workers.

    >>> import geneva_drive as gd
    >>> class Report(gd.Workflow):
    ...     schedule = gd.cron("0 9 * * 1-5", timezone="Europe/Amsterdam")
    ...
    ...     @gd.step
    ...     def send(self): ...
    """
    with code_location.ending_at_caller, code_location.naming("gd.cron", code_location.of_caller()):
        checked = Cron(
            line=_line(line),
            timezone=_timezone(timezone),
            overlap=Overlap(_word("overlap", overlap, tuple(Overlap))),
            missed=MissedRuns(_word("missed", missed, tuple(MissedRuns))),
            jitter=_jitter(jitter),
        )
        _check_fires(checked.line)
    return checked


def own_schedule(workflow_class: type, context: ContextType | None) -> Cron | None:
    """Return the schedule that a class declares itself.

    It is not inherited, because both classes would fire.
    """
    declared = vars(workflow_class).get("schedule")
    if declared is None:
        return None
    if not isinstance(declared, Cron):
        hint = f" Write schedule = gd.cron({declared!r})." if isinstance(declared, str) else ""
        raise StepConfigurationError(
            f"schedule must be a gd.cron(...), got {shown(declared)}.{hint}"
        )
    if context is not None:
        try:
            context.check(workflow_class.__name__, {}, ())
        except InvalidInput as error:
            raise StepConfigurationError(
                f"a schedule starts its workflows without a context. {error} Give the fields of "
                f"{context.name} defaults."
            ) from None
    return declared


def _line(value: object) -> str:
    line = checks.text(
        "the cron line", value, longest=_MAX_LINE_LENGTH, error=StepConfigurationError
    )
    count = len(line.split())
    if count not in (5, 6):
        raise StepConfigurationError(
            f"the cron line {line!r} has {count} field{'' if count == 1 else 's'}. Write five: "
            f"{_FIELDS}; or six, with the second first."
        )
    return line


def _timezone(value: object) -> str:
    from zoneinfo import ZoneInfo, available_timezones

    name = checks.text("timezone", value, longest=64, error=StepConfigurationError)
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        known = sorted(available_timezones())
        close = get_close_matches(name, known, 1)
        hint = f"Did you mean {close[0]!r}?" if close else "Write one such as 'Europe/Amsterdam'."
        if not known:
            hint = "This machine has no time zones: install the package tzdata."
        raise StepConfigurationError(f"there is no time zone {shown(name)}. {hint}") from None
    return name


def _word(name: str, value: object, words: Sequence[str]) -> str:
    close = get_close_matches(str(value), words, 1)
    hint = f" Did you mean {str(close[0])!r}?" if close else ""
    return checks.choice(name, value, words, error=StepConfigurationError, hint=hint)


def _jitter(value: Duration | None) -> timedelta | None:
    if value is None:
        return None
    return checks.positive_duration("jitter", value, error=StepConfigurationError)


def _check_fires(line: str) -> None:
    from cronsim import CronSim, CronSimError

    try:
        first = next(CronSim(line, _SOME_DAY), None)
    except CronSimError as error:
        if not _has_valid_fields(line):
            what = str(error).removeprefix("Bad ").replace("-", " ")
            raise StepConfigurationError(
                f"the cron line {line!r} has a bad {what}. The fields are {_FIELDS}."
            ) from None
        first = None
    if first is None:
        raise StepConfigurationError(
            f"the cron line {line!r} never fires: no date fits. Change its day or month."
        )


def _has_valid_fields(line: str) -> bool:
    """True if each field is valid, but no date matches, as in '0 0 31 2 *'."""
    from cronsim import CronSim, CronSimError

    *others, _, weekday = line.split()
    try:
        CronSim(" ".join([*others, "*", weekday]), _SOME_DAY)
    except CronSimError:
        return False
    return True
