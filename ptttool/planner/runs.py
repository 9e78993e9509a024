"""From what analyses need to the fewest runs that bring it, in the device's own limits.

An event of the device is of one format and one direction. Only 4DW has events of both directions; of the inbound completions they hold
CPL A or CPL B. Outbound, the kernel documentation (Documentation/trace/hisi-ptt.rst) allows one type at a time. So a need may take a run of
its own, and a need of several outbound types as many runs as it has types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from msgspec import Struct, structs

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.needs import Captured, Lack, Need
from ptttool.capture.event.build import AskedTrace
from ptttool.capture.event.terms import DIRECTION_VALUES, DIRECTIONS, Completions, Direction, Flow, Format, TlpType
from ptttool.errors import UsageError
from ptttool.tlp.columns import TLP_SCHEMA

_ALL = tuple(TlpType)


class Run(Struct, frozen=True):
    """One recording of a plan.

    Parameters
    ----------
    types : tuple of TlpType
        Of ``p``, ``np``, ``cpl``.
    direction : Direction
        ``inbound``, ``outbound`` or ``both``.
    completions : Completions or None
        ``a`` or ``b``.
    format : Format
        ``4dw`` or ``8dw``.
    """

    json_types: ClassVar = AskedTrace.json_types

    types: tuple[TlpType, ...] = _ALL
    direction: Direction = Direction.INBOUND
    completions: Completions | None = None
    format: Format = Format.DW4

    @property
    def flow(self) -> Flow:
        """The TLPs that are traced."""
        return DIRECTIONS[self.format][DIRECTION_VALUES[self.format, self.direction, self.completions]].of_types(self.types)

    @property
    def name(self) -> str:
        """A short name, for files: ``outbound-np``, ``both-np-cpl-a``."""
        words = [self.direction.value, *(() if self.types == _ALL else self.types)]
        words += [] if self.completions is None else [self.completions.value]
        return "-".join([*words, *(() if self.format is Format.DW4 else (self.format.value,))])

    @property
    def options(self) -> tuple[str, ...]:
        """The options of ``ptttool trace``, all of them."""
        words = ["--format", self.format.value, "--direction", self.direction.value, "--type", ",".join(self.types)]
        return (*words, *(() if self.completions is None else ("--completions", self.completions.value)))

    def brings(self, need: Need) -> bool:
        """Return whether a recording of the run has what an analysis needs, as far as the event says."""
        return not any(need.lacks(Captured(self.flow, self.format)))


class Wanted(Struct, frozen=True):
    """Something that a purpose needs.

    Parameters
    ----------
    purpose : str
        The purpose.
    need : Need
        What it needs.
    """

    purpose: str
    need: Need


def parse_purposes(text: str) -> tuple[str, ...]:
    """Read a list of purposes, the names of analyses: ``traffic,latency``; each counts once.

    Raises
    ------
    UsageError
        A name is not that of an analysis (``unknown-analysis``).
    """
    names = tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    for name in names:
        if not set(ANALYSES.get(name).columns) <= {column.name for column in TLP_SCHEMA}:
            raise UsageError(f"{name} is not an analysis of TLPs: no recording of a PTT device answers it", code="no-tlps")
    return names


def matching(purposes: Iterable[str]) -> tuple[str, ...]:
    """Return the purposes whose analyses match requests with their completions."""
    from ptttool.analyses.matching.analysis import MatchingAnalysis

    return tuple(name for name in purposes if issubclass(ANALYSES.get(name), MatchingAnalysis))


def wanted_for(purposes: Iterable[str], runs: Sequence[Run] = ()) -> list[Wanted]:
    """Return what purposes need; of several needs of which one is enough, the one that runs bring, or the first.

    Parameters
    ----------
    purposes : iterable of str
        Names of analyses.
    runs : sequence of Run
        The runs, where they are chosen already.
    """
    purpose_needs = []
    for purpose in purposes:
        analysis = ANALYSES.get(purpose)
        needs: Sequence[Need] = analysis.needs
        if analysis.one_need_is_enough:
            needs = [next((need for need in needs if any(run.brings(need) for run in runs)), needs[0])]
        purpose_needs += [Wanted(purpose, need) for need in needs]
    return purpose_needs


def runs_for(purpose_needs: Sequence[Wanted]) -> list[Run]:
    """Return the runs that bring what is wanted, each in the cheapest event that has it.

    What has to be in one recording comes first, since the rest may be in it already. Purposes that need nothing in particular get what is
    inbound.

    Parameters
    ----------
    purpose_needs : sequence of Wanted
        What the purposes need.
    """
    runs: list[Run] = []
    needs = _together(purpose_needs)
    for need in needs:
        if need.inbound and need.outbound and not any(run.brings(need) for run in runs):
            completions = _completions(need.inbound, Format.DW4, Direction.BOTH)
            _add(runs, Run(_types((*need.inbound, *need.outbound)), Direction.BOTH, completions, need.format or Format.DW4))
    # Whole headers first: what any format holds may then be in these recordings.
    one_way = sorted((need for need in needs if not (need.inbound and need.outbound)), key=lambda need: need.format is not Format.DW8)
    for need in one_way:
        for part in parts_of(need):
            if not any(run.brings(part) for run in runs):
                _add(runs, _run_of(part, runs))
    return [_whole(run) for run in runs] or [Run()]


def _together(purpose_needs: Sequence[Wanted]) -> list[Need]:
    """Return the needs; those of a purpose that look at inbound TLPs are one, since an analysis sees one recording at a time."""
    needs: list[Need] = []
    inbound: dict[str, int] = {}
    for one in purpose_needs:
        need = one.need
        if need.outbound or need.format is not None or not need.inbound:
            needs.append(need)
        elif one.purpose in inbound:
            earlier = needs[inbound[one.purpose]]
            needs[inbound[one.purpose]] = replace(earlier, inbound=tuple(dict.fromkeys((*earlier.inbound, *need.inbound))))
        else:
            inbound[one.purpose] = len(needs)
            needs.append(need)
    return needs


def _whole(run: Run) -> Run:
    """Return a run of all types where it has all requests of devices: sums by class are then complete."""
    if run.direction is Direction.INBOUND and run.completions is None and set(run.types) == {TlpType.POSTED, TlpType.NON_POSTED}:
        return structs.replace(run, types=_ALL)
    return run


def lacking(purpose_needs: Iterable[Wanted], runs: Sequence[Run], requester: int | None = None) -> list[tuple[Wanted, Lack]]:
    """Return what purposes need and no run brings.

    Parameters
    ----------
    purpose_needs : iterable of Wanted
        What the purposes need.
    runs : sequence of Run
        The runs.
    requester : int or None
        The requester that they filter for.
    """
    pairs = []
    for one in purpose_needs:
        for part in parts_of(one.need):
            lacks = [list(part.lacks(Captured(run.flow, run.format, requester))) for run in runs]
            if lacks and all(lacks):
                pairs.append((one, min(lacks, key=len)[0]))
    return pairs


def parts_of(need: Need) -> list[Need]:
    """Cut a need of one direction into what one event holds: outbound, one type; 8DW inbound, CPL A or all others."""
    if need.outbound:
        return [replace(need, outbound=(group,)) for group in need.outbound]
    if need.format is Format.DW8 and need.inbound:
        apart = tuple(group for group in need.inbound if group == "CPL A")
        others = tuple(group for group in need.inbound if group != "CPL A")
        return [replace(need, inbound=groups) for groups in (others, apart) if groups]
    return [need]


def _run_of(need: Need, runs: Sequence[Run]) -> Run:
    if need.outbound:
        return Run(_types(need.outbound), Direction.OUTBOUND, None, need.format or Format.DW4)
    groups = need.inbound or ("P", "NP")  # a format alone: requests have the fields that answers lack
    layout = need.format
    if layout is None:
        # A run of whole headers that there is anyway can take requests along.
        is_there = any(run.format is Format.DW8 and run.direction is Direction.INBOUND for run in runs)
        layout = Format.DW8 if is_there and not any(group.startswith("CPL") for group in groups) else Format.DW4
    return Run(_types(groups), Direction.INBOUND, _completions(groups, layout, Direction.INBOUND), layout)


def _completions(groups: Iterable[str], layout: Format, direction: Direction) -> Completions | None:
    """Return the option for completions, where the event has a choice and completions are among the types."""
    named = [group for group in groups if group.startswith("CPL")]
    if (layout, direction, Completions.A) not in DIRECTION_VALUES:
        return None
    if "CPL A" in named:
        return Completions.A
    if direction is Direction.BOTH:
        return Completions.B
    return Completions.B if named else None


def _types(groups: Iterable[str]) -> tuple[TlpType, ...]:
    names = {group.split()[0].lower() for group in groups}
    return tuple(one for one in TlpType if one in names)


def _add(runs: list[Run], run: Run) -> None:
    """Add a run, or widen one of the same event that differs only in its types, where several types are allowed."""
    for number, other in enumerate(runs):
        if structs.replace(other, types=run.types) == run and run.direction is not Direction.OUTBOUND:
            runs[number] = structs.replace(other, types=tuple(one for one in TlpType if one in {*other.types, *run.types}))
            return
    runs.append(run)


def overridden(
    runs: Sequence[Run],
    *,
    types: tuple[TlpType, ...] | None = None,
    direction: Direction | None = None,
    completions: Completions | None = None,
    format: Format | None = None,
) -> list[Run]:
    """Return runs with what the user has asked for explicitly; runs that are then the same are one.

    Parameters
    ----------
    runs : sequence of Run
        The runs of a plan.
    types, direction, completions, format
        What replaces the plan's choice; None leaves it.

    Raises
    ------
    UsageError
        8DW has no event of both directions (``8dw-both``).
    """
    parts: list[Run] = []
    for run in runs:
        layout, towards = format or run.format, direction or run.direction
        own_types = types or run.types
        if (layout, towards, None) not in DIRECTION_VALUES:
            message = "8DW cannot hold both directions, and the plan needs requests together with their completions"
            raise UsageError(message, hint="leave --format out", code="8dw-both")
        choice = completions or run.completions
        if choice is not None and ((layout, towards, choice) not in DIRECTION_VALUES or TlpType.COMPLETION not in own_types):
            choice = completions  # the user's own is refused where it has no effect
        parts += split(structs.replace(run, types=own_types, direction=towards, completions=choice, format=layout))
    return list(dict.fromkeys(parts))


def split(run: Run) -> list[Run]:
    """Return the runs that an outbound run of several types takes, one for each type; any other run as it is."""
    if run.direction is not Direction.OUTBOUND:
        return [run]
    return [structs.replace(run, types=(one,)) for one in TlpType if one in run.types]
