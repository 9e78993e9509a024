"""The comparison of recordings of two sides: in what those of one side differ from those of the other.

The recording is the unit: each measure has one value of each recording. The sides are compared by an exact rank test; all tests together
are corrected for their number. Where there are too few recordings for any difference to be found, nothing is said to differ, nor not to.

One recording of each side says nothing of what differs from one recording to the next. Both are then described, and equal parts of each
show how much it differs within itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.analyses.compare import blocks
from ptttool.analyses.compare.blocks import BlockSums
from ptttool.analyses.compare.errors import ErrorCounts, error_counts, error_table
from ptttool.analyses.compare.grid import Grid, Sums
from ptttool.analyses.compare.measures import RATES, Key, Measured, latencies_of, measures_of
from ptttool.analyses.compare.statistics import ALPHA, Effect, Sample, delta_of, effect_of, holm, needed, p_value, shift_of, smallest_p
from ptttool.analyses.drawing.numbers import number_text
from ptttool.analyses.drawing.result import Shown
from ptttool.analyses.errors.document import Errors
from ptttool.analyses.loss.analysis import LossSigns
from ptttool.analyses.needs import Captured
from ptttool.analyses.scope import Scope
from ptttool.analyses.shown import Cell, Column, Facts, Names, Note, Part, Table, Unit, text_column
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import ErrorBody, document
from ptttool.tlp.columns import CLASSES, DIRECTIONS
from ptttool.wording import first_of, in_words

MOST_PARTS: Final = 32
"""Parts of a recording, unless the user says another number."""
FEWEST_PARTS: Final = 8
"""Parts below which a recording is too short."""
# Records of a part, at least: fewer say little of a median or a share.
_FEWEST_RECORDS: Final = 16
# Shares of TLPs of unknown direction that differ by more are worth a warning.
_UNKNOWN_DIFFERENCE: Final = 0.05
# Recordings whose lengths differ by more than this factor are hardly of the same work.
_FACTOR: Final = 2.0
# The confidence that intervals are to have.
_CONFIDENCE: Final = 0.95
# Recordings that a sentence names; it counts the others.
_NAMED: Final = 6


class Verdict(StrEnum):
    """What the test of a measure came to."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "no-difference-found"


class Side(Struct, frozen=True):
    """One of the recordings.

    Parameters
    ----------
    name : str
        ``A`` or ``B``, the side; with a number where that has several recordings: ``A1``.
    path : str
        The recording.
    records : int
        Number of its TLPs.
    parts : int
        Parts that it was cut into; 1 where a side has several recordings.
    elapsed_ticks : int or None
        Its time; null where the time model is not known.
    holes : int
        How often records may be missing.
    is_at_least : bool
        Whether more time passed than ``elapsed_ticks``: gaps of unknown length. Rates are then not compared.
    loss : list of Diagnostic
        Signs of loss.
    tick_ns : float or None
        Nanoseconds of a tick, where the user or the clock that is kept beside the recording says so. Times are compared in nanoseconds
        where they are known of both recordings.
    tick_text : str or None
        The same, and who says so, for people.
    """

    name: str
    path: str
    records: int
    parts: int
    elapsed_ticks: int | None
    holes: int
    is_at_least: bool
    loss: list[Diagnostic]
    tick_ns: float | None = None
    tick_text: str | None = None


class Total(Struct, frozen=True):
    """Sums of both sides, of one direction and class.

    Parameters
    ----------
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    class_ : str or None
        The class; null for unknown TLPs.
    tlps, bytes, requested_bytes : list of int
        Over the recordings of the first and of the second side: TLPs, bytes that they carry, bytes that non-posted requests ask for.
    """

    direction: str
    class_: str | None = field(name="class")
    tlps: tuple[int, int]
    bytes: tuple[int, int]
    requested_bytes: tuple[int, int]


class Measure(Struct, frozen=True):
    """A measure of both sides.

    Parameters
    ----------
    name : str
        What is measured: ``tlp-share``, ``tlp-rate``, ``data-rate``, ``payload-size``, ``request-size``, ``error-share``,
        ``latency-p50``, ``latency-p99``.
    unit : str
        Unit of the values.
    direction, class_ : str or None
        The TLPs that are measured; null for all.
    n : list of int
        Recordings of the first and of the second side that have a value.
    values : list of list of float or None
        The value of each recording, by side, in their order; null where it has none.
    medians : list of float
        The median of the values of each side.
    change_percent : float or None
        Change of the median in percent of the first; null where that is 0.
    spreads : list of list of float or None
        Quartiles of the values of each side. One recording a side: those of its parts, null where no part has a value.
    shift : float
        By how much the second side is higher: the median of the differences of all pairs of recordings (Hodges-Lehmann).
    interval : list of float or None
        Interval of the shift; null for one recording a side.
    confidence : float or None
        The confidence of the interval: 0.95 or a little more, or the less that so few recordings allow; null without one.
    delta : float or None
        Cliff's delta, -1 to 1: how much more often a recording of the second side is above one of the first than below it. One recording
        a side: the same for their parts; null where no part has a value.
    effect : Effect or None
        Its size: ``negligible``, ``small``, ``medium``, ``large``.
    p : float or None
        Probability of values at least as one-sided if the sides do not differ, from the exact test; null for one recording a side.
    p_corrected : float or None
        The same, corrected for all measures (Holm).
    verdict : Verdict or None
        ``higher`` or ``lower``: the second side is; it does not say why. ``no-difference-found``. Null where so few recordings could not
        show any difference.
    """

    name: str
    unit: str
    direction: str | None
    class_: str | None = field(name="class")
    n: tuple[int, int]
    values: tuple[list[float | None], list[float | None]]
    medians: tuple[float, float]
    spreads: tuple[tuple[float, float], tuple[float, float]] | None
    change_percent: float | None
    shift: float
    interval: tuple[float, float] | None
    confidence: float | None
    delta: float | None
    effect: Effect | None
    p: float | None
    p_corrected: float | None
    verdict: Verdict | None


class Findable(Struct, frozen=True):
    """What so many recordings can show.

    Parameters
    ----------
    level : float
        The probability of finding any difference where there is none: a corrected p of at most so much counts.
    measures : int
        Measures that the test is corrected for: those whose values are not all the same.
    smallest_p : float
        The smallest p that so many recordings can have, before it is corrected.
    needed : int
        Recordings of each side that can show a difference in so many measures, if it is large.
    """

    level: float
    measures: int
    smallest_p: float
    needed: int

    @property
    def is_enough(self) -> bool:
        """Whether a difference can be found."""
        return self.smallest_p * max(self.measures, 1) <= self.level


@document("compare")
class Comparison(Shown, Struct, frozen=True):
    """Recordings of two sides, and in what these differ.

    Parameters
    ----------
    sides : list of list of str
        The recordings of the first side, and those of the second.
    recordings : list of Side
        What is known of each, the first side before the second.
    findable : Findable
        What so many recordings can show.
    warnings : list of Diagnostic
        Why the recordings may not be comparable; empty where nothing speaks against it.
    totals : list of Total
        TLPs and bytes by direction and class.
    measures : list of Measure
        What was measured; what differs most comes first.
    errors : list of ErrorCounts
        Errors that at least one of the recordings has.
    error : ErrorBody or None
        With what the command ends, where a recording is damaged; the rest is of the part before.
    """

    json_omits_none: ClassVar = ("error",)

    sides: tuple[list[str], list[str]]
    recordings: list[Side]
    findable: Findable
    warnings: list[Diagnostic]
    totals: list[Total]
    measures: list[Measure]
    errors: list[ErrorCounts]
    error: ErrorBody | None = None

    @property
    def changes(self) -> list[Measure]:
        """The measures in which the sides differ."""
        return [measure for measure in self.measures if measure.verdict in (Verdict.HIGHER, Verdict.LOWER)]

    @property
    def _is_single(self) -> bool:
        return len(self.recordings) == 2

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield warnings, what changed, the recordings side by side, their errors, all measures."""
        yield from (Note(warning.text, warning.severity) for warning in self.warnings)
        same, open_ = ([each for each in self.measures if each.verdict is verdict] for verdict in (Verdict.SAME, None))
        if not self.findable.is_enough:
            yield Note(self._too_few())
            if self.measures:
                yield self._without_verdict()
        elif self.changes:
            yield _test_table("What differs, from A to B", self.changes)
        elif same:
            yield Note("no difference found; that does not say that there is none")
        yield Facts([(side.name, f"{side.path}: {_about(side)}") for side in self.recordings], "Recordings")
        for side in self.recordings:
            yield from (Note(f"{side.name}: {sign.text}", sign.severity) for sign in side.loss)
        yield Table("Totals", _TOTAL_COLUMNS, [_total_row(each) for each in self.totals])
        if self.errors:
            yield error_table(self.errors)
        if same:
            yield _test_table("No difference found", same)
        if open_ and self.findable.is_enough:
            yield _test_table("Too few recordings have a value", open_)
        if self.measures:
            yield Note(self._legend())

    def _too_few(self) -> str:
        """Return why nothing is said of differences."""
        findable, (first, second) = self.findable, map(len, self.sides)
        more = "no measure differs between them"
        if findable.measures:
            more = f"from {findable.needed} of each side, taken in turns, a difference in {findable.measures} measures can be found"
        if self._is_single:
            return f"one recording of each side says nothing of what differs from one recording to the next; {more}"
        least = f"{findable.smallest_p:.2g}"
        if findable.measures > 1:
            least += f", and {min(findable.smallest_p * findable.measures, 1):.2g} when corrected for {findable.measures} measures"
        return f"{first} and {second} recordings are too few for a verdict: the smallest p they can have is {least}; {more}"

    def _without_verdict(self) -> Table:
        if self._is_single:
            return Table("Differences between these two recordings", _PART_COLUMNS, [_part_row(each) for each in self.measures])
        return _test_table("Differences from A to B, without a verdict", self.measures)

    def _legend(self) -> str:
        if self._is_single:
            parts = " and ".join(str(side.parts) for side in self.recordings)
            return (
                f"A and B: the whole recording; middle half: quartiles of {parts} equal parts of each; delta: how much more often a part "
                "of B is above one of A than below it"
            )
        return (
            "A and B: medians of the recordings; shift: the median of the differences of all pairs, and between what it is with 95 % "
            "confidence, or the less that is said; p: exact rank test, corrected for all measures; delta: how much more often a recording "
            "of B is above one of A than below it"
        )


class Measurements(NamedTuple):
    """What is known of one recording before it is compared.

    Parameters
    ----------
    path : str
        The recording.
    sums : BlockSums
        Its blocks.
    latencies : Grid
        Latencies in its blocks.
    errors : Errors
        What went wrong.
    loss : LossSigns
        Signs of loss.
    captured : Captured
        What it was asked for.
    scope : Scope
        How its time is read.
    filter : int or None
        The filter of its event; None where that is not known.
    """

    path: str
    sums: BlockSums
    latencies: Grid
    errors: Errors
    loss: LossSigns
    captured: Captured
    scope: Scope
    filter: int | None = None

    @property
    def totals(self) -> list[int]:
        """The sums over all blocks."""
        totals: list[int] = self.sums.grid.sums.sum(axis=0).tolist() or [0] * blocks.WIDTH
        return totals

    @property
    def records(self) -> int:
        """Number of TLPs."""
        return sum(self.totals[blocks.TLPS : blocks.TLPS + blocks.CELLS])

    def parts(self, most: int) -> int:
        """Return how many parts it is cut into."""
        return max(min(most, self.records // _FEWEST_RECORDS, len(self.sums.grid.sums)), min(self.records, 1))

    def measured(self, parts: int, tick_ns: float | None, seen: Sums) -> dict[Key, Measured]:
        """Return the measures of its parts.

        Parameters
        ----------
        parts : int
            How many parts; 1 for the whole recording.
        tick_ns : float or None
            Nanoseconds of a tick; None for times in ticks.
        seen : ndarray of int64, shape (WIDTH,)
            Sums of what is measured where it is above 0.
        """
        if not self.records:
            return {}
        measured = dict(measures_of(self.sums.grid.parts(parts), tick_ns, seen))
        blocks_of_latencies = len(self.latencies.sums)
        if blocks_of_latencies:
            measured.update(latencies_of(self.latencies.parts(min(parts, blocks_of_latencies)), tick_ns))
        return measured


def compare(first: Sequence[Measurements], second: Sequence[Measurements], parts: int = MOST_PARTS) -> Comparison:
    """Compare the recordings of two sides.

    Parameters
    ----------
    first, second : sequence of Measurements
        The recordings of each side, at least one.
    parts : int
        Parts that each is cut into, at most, where each side has one; a short recording has fewer.
    """
    every = [*first, *second]
    names = [*_names("A", len(first)), *_names("B", len(second))]
    is_single = len(every) == 2
    counts = [each.parts(parts if is_single else 1) for each in every]
    tick = _each_tick(every)
    seen = _seen(every)
    whole = [each.measured(1, tick(each), its) for each, its in zip(every, seen, strict=True)]
    cut = [each.measured(count, tick(each), its) for each, count, its in zip(every, counts, seen, strict=True)] if is_single else None
    left_out = RATES if any(each.sums.is_at_least for each in every) else ()
    values: dict[Key, tuple[str, Sample, Sample]] = {}
    for key in dict.fromkeys(key for one in whole for key in one):
        units = {one[key][0] for one in whole if key in one}
        numbers = np.array([one[key][1][0] if key in one else np.nan for one in whole])
        before, after = numbers[: len(first)], numbers[len(first) :]
        if key[0] not in left_out and len(units) == 1 and len(_known(before)) and len(_known(after)):
            values[key] = units.pop(), before, after
    varied = sum(_varies(_known(before), _known(after)) for _, before, after in values.values())
    findable = Findable(ALPHA, varied, smallest_p(len(first), len(second)), needed(varied))
    return Comparison(
        sides=([each.path for each in first], [each.path for each in second]),
        recordings=[_side(name, each, count) for name, each, count in zip(names, every, counts, strict=True)],
        findable=findable,
        warnings=list(_warnings(names, every)),
        totals=list(_totals(*(np.sum([each.totals for each in side], axis=0).tolist() for side in (first, second)))),
        measures=_described(values, cut) if cut is not None else _tested(values, findable),
        errors=error_counts([each.errors for each in first], [each.errors for each in second]),
    )


def _names(side: str, count: int) -> list[str]:
    return [side] if count == 1 else [f"{side}{number}" for number in range(1, count + 1)]


def _side(name: str, each: Measurements, parts: int) -> Side:
    sums = each.sums
    return Side(
        name, each.path, each.records, parts, sums.elapsed, sums.holes, sums.is_at_least, _worth_a_note(each.loss),
        sums.tick_ns, sums.tick_text,
    )  # fmt: skip


def _each_tick(every: Sequence[Measurements]) -> Callable[[Measurements], float | None]:
    """Return how long a tick of a recording is: of all of them or of none."""
    is_timed = all(each.sums.tick_ns is not None for each in every)
    return lambda each: each.sums.tick_ns if is_timed else None


def _seen(every: Sequence[Measurements]) -> list[Sums]:
    """Return, for each recording, sums of what it could show: what others of the same kind have is 0 in it, not unknown."""
    sums = [np.array(each.totals) for each in every]
    alike = len({(each.captured.flow, each.filter) for each in every}) == 1 and {_unknown_share(each.totals) for each in every} in (
        {0},
        {1},
    )
    return [np.sum(sums, axis=0)] * len(every) if alike else sums


def _known(values: Sample) -> Sample:
    return values[~np.isnan(values)]


def _varies(first: Sample, second: Sample) -> bool:
    return bool(np.ptp(np.concatenate((first, second))) > 0)


def _tested(values: Mapping[Key, tuple[str, Sample, Sample]], findable: Findable) -> list[Measure]:
    """Compare measures: the unit, and the values of the recordings of both sides (NaN for none), by what is measured."""
    known = {key: (_known(before), _known(after)) for key, (_, before, after) in values.items()}
    tests = {key: p_value(*sides) for key, sides in known.items() if _varies(*sides)}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    measures = []
    for key, (before, after) in known.items():
        shift, low, high, confidence = shift_of(before, after, _CONFIDENCE)
        delta, p = delta_of(before, after), corrected.get(key, 1.0)
        verdict = None
        if p is not None and p <= findable.level:
            verdict = Verdict.HIGHER if delta > 0 else Verdict.LOWER
        elif replace(findable, smallest_p=smallest_p(len(before), len(after))).is_enough:
            verdict = Verdict.SAME
        measure = _measure(key, *values[key], shift, delta, (_spread(before), _spread(after)))
        interval = (low, high) if confidence else None
        measures.append(
            replace(measure, interval=interval, confidence=confidence or None, p=tests.get(key, 1.0), p_corrected=p, verdict=verdict)
        )
    return sorted(measures, key=lambda one: (one.p_corrected, one.p, -abs(one.delta or 0)))


def _described(values: Mapping[Key, tuple[str, Sample, Sample]], cut: Sequence[Mapping[Key, Measured]]) -> list[Measure]:
    """Describe measures of one recording a side, with what their parts say."""
    measures = []
    for key, (unit, before, after) in values.items():
        spreads = delta = None
        if all(key in one for one in cut):
            (_, early), (_, late) = (one[key] for one in cut)
            spreads, delta = (_spread(early), _spread(late)), delta_of(early, late)
        measures.append(_measure(key, unit, before, after, float(after[0] - before[0]), delta, spreads))
    return sorted(measures, key=lambda one: -abs(one.delta or 0))


def _listed(values: Sample) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _measure(
    key: Key,
    unit: str,
    before: Sample,
    after: Sample,
    shift: float,
    delta: float | None,
    spreads: tuple[tuple[float, float], tuple[float, float]] | None,
) -> Measure:
    """Return a measure without a test."""
    name, direction, class_ = key
    medians = float(np.nanmedian(before)), float(np.nanmedian(after))
    return Measure(
        name=name,
        unit=unit,
        direction=direction,
        class_=class_,
        n=(len(_known(before)), len(_known(after))),
        values=(_listed(before), _listed(after)),
        medians=medians,
        spreads=spreads,
        change_percent=None if not medians[0] else 100 * (medians[1] - medians[0]) / medians[0],
        shift=shift,
        interval=None,
        confidence=None,
        delta=delta,
        effect=None if delta is None else effect_of(delta),
        p=None,
        p_corrected=None,
        verdict=None,
    )


def _spread(values: Sample) -> tuple[float, float]:
    low, high = np.percentile(values, (25, 75)).tolist()
    return low, high


def _totals(first: list[int], second: list[int]) -> Iterator[Total]:
    for direction, direction_name in enumerate(DIRECTIONS):
        for class_, class_name in enumerate((*CLASSES, None)):
            at = blocks.cell(direction, class_)
            tlps, data, asked = ((first[column + at], second[column + at]) for column in (blocks.TLPS, blocks.DATA, blocks.ASKED))
            if class_name == "P":
                asked = (0, 0)  # a write carries what it asks for: it is in the bytes
            if any(tlps):
                yield Total(direction_name, class_name, tlps, data, asked)


def _unknown_share(totals: list[int]) -> float:
    """Return the share of the TLPs of unknown direction."""
    tlps = {name: sum(totals[blocks.TLPS + blocks.cell(code, one)] for one in range(len(CLASSES))) for code, name in enumerate(DIRECTIONS)}
    every = sum(tlps.values())
    return tlps["unknown"] / every if every else 0.0


def _worth_a_note(loss: LossSigns) -> list[Diagnostic]:
    return [sign for sign in loss.signs if sign.severity is not Severity.INFO]


def _some(names: Sequence[str]) -> str:
    return in_words(first_of(names, _NAMED))


def _warnings(names: Sequence[str], every: Sequence[Measurements]) -> Iterator[Diagnostic]:
    """Yield what speaks against the comparison, of any of the recordings."""

    def warning(code: str, message: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(Severity.WARNING, code, message, hint)

    def named(holds: Callable[[Measurements], object]) -> list[str]:
        return [name for name, each in zip(names, every, strict=True) if holds(each)]

    same = "record all with the same options of 'ptttool trace'"
    unknown = [_unknown_share(each.totals) for each in every]
    if max(unknown) - min(unknown) > _UNKNOWN_DIFFERENCE:
        least, most = (names[unknown.index(share)] for share in (min(unknown), max(unknown)))
        yield warning(
            "unknown-direction",
            f"the direction is not known of {min(unknown):.0%} of the TLPs of {least}, and of {max(unknown):.0%} of those of {most}: "
            "they are not compared with TLPs of known direction",
            "--downstream names the buses behind the traced ports",
        )
    if len({each.captured.format for each in every}) > 1:
        yield warning("other-format", "the recordings have records of different formats", same)
    titles: dict[object, tuple[str, list[str]]] = {}
    for name, each in zip(names, every, strict=True):
        titles.setdefault(each.captured.flow, (each.captured.title, []))[1].append(name)
    if len(titles) > 1:
        asked = "; ".join(f"{_some(those)} {title}" for title, those in titles.values())
        yield warning("other-tlps", f"the recordings were asked for different TLPs: {asked}", same)
    if len({each.filter for each in every}) > 1:
        yield warning("other-filter", "the recordings were filtered for different ports or requesters", same)
    for name, each in zip(names, every, strict=True):
        if each.sums.dropped is not None:
            yield replace(each.sums.dropped, message=f"{name}: {each.sums.dropped.message}")
    if len({(each.scope.time_model, each.sums.tick_ns is None) for each in every}) > 1:
        yield warning("other-time", "the Time fields of the recordings are read in different ways", "--time-model counter, or delta")
    short = named(lambda each: each.sums.is_at_least)
    if short:
        yield warning(
            "time-at-least",
            f"more time passed in {_some(short)} than was seen: rates are not compared, nor the lengths of the recordings",
            "--format 8dw records a Time field of 32 bits",
        )
    lengths, what = [each.records for each in every], "TLPs"
    ticks = [each.sums.elapsed for each in every if each.sums.elapsed]
    if len(ticks) == len(every) and not short:
        lengths, what = ticks, "ticks"
    if min(lengths) * _FACTOR < max(lengths):
        least, most = (names[lengths.index(length)] for length in (min(lengths), max(lengths)))
        yield warning("other-length", f"the recordings differ in length: {min(lengths):,} {what} in {least}, {max(lengths):,} in {most}")
    lossy = named(lambda each: _worth_a_note(each.loss))
    if lossy:
        yield warning(
            "loss",
            f"there are signs of loss in {_some(lossy)}: what is missing is not in the comparison",
            "'ptttool analyze loss' shows them",
        )
    few = named(lambda each: each.records < FEWEST_PARTS * _FEWEST_RECORDS)
    if few:
        yield warning("too-short", f"too few TLPs to tell a difference from noise: {_some(few)}", "record for longer")


_FIRST_COLUMNS: Final = (
    text_column("Measure"),
    text_column("TLPs"),
    Column("A"),
    Column("B"),
    text_column("Unit", 1),
    Column("Change", Unit.PERCENT),
)
_PART_COLUMNS: Final = (
    *_FIRST_COLUMNS,
    Column("Delta", weight=1),
    text_column("Effect", 2),
    text_column("Middle half of A", 3),
    text_column("Middle half of B", 3),
)
_TEST_COLUMNS: Final = (
    *_FIRST_COLUMNS,
    text_column("p"),
    text_column("Shift between", 2),
    Column("Shift", weight=3),
    Column("Delta", weight=4),
    text_column("Effect", 5),
    text_column("Recordings", 6),
)
_TOTAL_COLUMNS: Final = (
    text_column("TLPs"),
    Column("TLPs A", Unit.TLPS),
    Column("TLPs B", Unit.TLPS),
    Column("Bytes A", Unit.BYTES),
    Column("Bytes B", Unit.BYTES),
    Column("Asked for A", Unit.BYTES, weight=1),
    Column("Asked for B", Unit.BYTES, weight=1),
)


def _first_cells(measure: Measure) -> list[Cell]:
    which = " ".join(part for part in (measure.direction, measure.class_) if part) or "all"
    return [measure.name, which, *measure.medians, measure.unit, measure.change_percent]


def _part_row(measure: Measure) -> list[Cell]:
    spreads = [_range(each) for each in measure.spreads or (None, None)]
    return [*_first_cells(measure), None if measure.delta is None else round(measure.delta, 2), measure.effect, *spreads]


def _test_table(title: str, measures: Sequence[Measure]) -> Table:
    return Table(title, _TEST_COLUMNS, [_test_row(each) for each in measures])


def _test_row(measure: Measure) -> list[Cell]:
    interval = _range(measure.interval)
    if interval is not None and measure.confidence is not None and measure.confidence < _CONFIDENCE:
        interval += f" ({measure.confidence:.0%})"
    p, delta = f"{measure.p_corrected:.2g}", round(measure.delta or 0, 2)
    return [*_first_cells(measure), p, interval, measure.shift, delta, measure.effect, "{} and {}".format(*measure.n)]


def _range(ends: tuple[float, float] | None) -> str | None:
    return None if ends is None else " to ".join(map(number_text, ends))


def _total_row(total: Total) -> list[Cell]:
    return [f"{total.direction} {total.class_ or 'unknown'}", *total.tlps, *total.bytes, *total.requested_bytes]


def _about(side: Side) -> str:
    time = "" if side.elapsed_ticks is None else f", {'at least ' if side.is_at_least else ''}{side.elapsed_ticks:,} ticks"
    holes = f", {side.holes:,} holes" if side.holes else ""
    tick = "" if side.tick_text is None else f", a tick of {side.tick_text}"
    return f"{side.records:,} TLPs{time}{holes}{tick}"
