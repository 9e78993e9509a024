"""The comparison of two recordings: side by side, and in what the parts of one differ from those of the other.

Each recording is cut into equal parts by the numbers of its records. A measure of the parts (a median over them) of one recording is
compared with that of the other by a rank test; all tests together are corrected for their number. What passes the test and has at least a
medium effect differs between these two recordings. That is no proof that a change made it: parts of one recording depend on each other, so
the test is too sure of itself, and one recording of each side says nothing of what differs from one recording to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import ClassVar, Final, NamedTuple

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ptttool.analyses.compare import blocks
from ptttool.analyses.compare.blocks import BlockSums
from ptttool.analyses.compare.errors import ErrorCounts, error_counts, error_table
from ptttool.analyses.compare.grid import Grid
from ptttool.analyses.compare.measures import RATES, Key, Measured, latencies_of, measures_of
from ptttool.analyses.compare.statistics import Effect, Sample, corrected, effect_of, median_interval, rank_test
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
from ptttool.wording import in_words

MOST_PARTS: Final = 32
"""Parts of a recording, unless the user says another number."""
FEWEST_PARTS: Final = 8
"""Parts below which nothing is said of differences."""
# Records of a part, at least: fewer say little of a median or a share.
_FEWEST_RECORDS: Final = 16
# What counts as a difference: the false discovery rate, and Cliff's delta.
# Shares of TLPs of unknown direction that differ by more are worth a warning.
_UNKNOWN_DIFFERENCE: Final = 0.05
_RATE, _DELTA = 0.05, 0.33
# Recordings whose lengths differ by more than this factor are hardly of the same work.
_FACTOR: Final = 2.0


class Verdict(StrEnum):
    """What a comparison of a measure came to."""

    HIGHER = "higher"
    LOWER = "lower"
    SAME = "no-difference-found"
    FEW = "too-few-parts"


class Side(Struct, frozen=True):
    """One of the recordings.

    Parameters
    ----------
    path : str
        The recording.
    records : int
        Number of its TLPs.
    parts : int
        Parts that it was cut into.
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
    """Sums of both recordings, of one direction and class.

    Parameters
    ----------
    direction : str
        ``inbound``, ``outbound`` or ``unknown``.
    class_ : str or None
        The class; null for unknown TLPs.
    tlps, bytes, requested_bytes : list of int
        Of the first and of the second recording: TLPs, bytes that they carry, bytes that non-posted requests ask for.
    """

    direction: str
    class_: str | None = field(name="class")
    tlps: tuple[int, int]
    bytes: tuple[int, int]
    requested_bytes: tuple[int, int]


class Measure(Struct, frozen=True):
    """A measure of both recordings.

    Parameters
    ----------
    name : str
        What is measured: ``tlp-share``, ``tlp-rate``, ``data-rate``, ``payload-size``, ``request-size``, ``error-share``,
        ``latency-p50``, ``latency-p99``.
    unit : str
        Unit of the medians.
    direction, class_ : str or None
        The TLPs that are measured; null for all.
    medians : list of float
        Median over the parts of the first and of the second recording.
    change_percent : float or None
        Change of the median in percent of the first; null where that is 0.
    spreads : list of list of float
        The middle half of the parts of the first and of the second recording: quartiles.
    interval : list of float
        95 % interval of the difference of the medians, second less first, if parts were independent of each other: they are not.
    delta : float
        Cliff's delta, -1 to 1: how much more often a part of the second recording is above one of the first than below it.
    effect : Effect
        Its size: ``negligible``, ``small``, ``medium``, ``large``.
    rate : float
        False discovery rate of the rank test, over all measures, if parts were independent of each other: they are not.
    verdict : Verdict
        ``higher`` or ``lower``: most parts of the second recording are above, or below, those of the first; it does not say why.
        ``no-difference-found``; ``too-few-parts``.
    """

    name: str
    unit: str
    direction: str | None
    class_: str | None = field(name="class")
    medians: tuple[float, float]
    spreads: tuple[tuple[float, float], tuple[float, float]]
    change_percent: float | None
    interval: tuple[float, float]
    delta: float
    effect: Effect
    rate: float
    verdict: Verdict


@document("compare")
class Comparison(Shown, Struct, frozen=True):
    """Two recordings side by side, and in what their parts differ.

    Parameters
    ----------
    recordings : list of Side
        The first and the second recording.
    warnings : list of Diagnostic
        Why the recordings may not be comparable; empty where nothing speaks against it.
    totals : list of Total
        TLPs and bytes by direction and class.
    measures : list of Measure
        What was measured in equal parts of each recording; what differs most comes first.
    errors : list of ErrorCounts
        Errors that at least one of the recordings has.
    error : ErrorBody or None
        With what the command ends, where a recording is damaged; the rest is of the part before.
    """

    json_omits_none: ClassVar = ("error",)

    recordings: tuple[Side, Side]
    warnings: list[Diagnostic]
    totals: list[Total]
    measures: list[Measure]
    errors: list[ErrorCounts]
    error: ErrorBody | None = None

    @property
    def changes(self) -> list[Measure]:
        """The measures in which the parts of one recording differ from those of the other."""
        return [measure for measure in self.measures if measure.verdict in (Verdict.HIGHER, Verdict.LOWER)]

    def shown(self, names: Names) -> Iterator[Part]:
        """Yield warnings, what changed, the recordings side by side, their errors, all measures."""
        yield from (Note(warning.text, warning.severity) for warning in self.warnings)
        if self.changes:
            yield Note(
                "these two recordings differ; one of each side cannot say whether a change made it, or whether two recordings of the same "
                "differ as much: record several times before and after"
            )
            yield Table("What differs, from A to B", _CHANGE_COLUMNS, [_change_row(each) for each in self.changes])
        elif any(each.verdict is Verdict.SAME for each in self.measures):
            yield Note("no difference found; that does not say that there is none")
        yield Facts([(label, f"{side.path}: {_about(side)}") for label, side in zip("AB", self.recordings, strict=True)], "Recordings")
        for label, side in zip("AB", self.recordings, strict=True):
            yield from (Note(f"{label}: {sign.text}", sign.severity) for sign in side.loss)
        yield Table("Totals", _TOTAL_COLUMNS, [_total_row(each) for each in self.totals])
        if self.errors:
            yield error_table(self.errors)
        others = [each for each in self.measures if each not in self.changes]
        if others:
            yield Table("No difference found", _CHANGE_COLUMNS, [_change_row(each) for each in others])
        yield Note(
            f"A and B: medians over {self.recordings[0].parts} and {self.recordings[1].parts} equal parts of each recording; middle half: "
            "quartiles of the parts, which depend on each other; delta: how much more often a part of B is above one of A than below it"
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

    def measured(self, parts: int, tick_ns: float | None) -> dict[Key, Measured]:
        """Return the measures of its parts; ``tick_ns``: nanoseconds of a tick, or None for times in ticks."""
        if not parts:
            return {}
        measured = dict(measures_of(self.sums.grid.parts(parts), tick_ns))
        blocks_of_latencies = len(self.latencies.sums)
        if blocks_of_latencies:
            measured.update(latencies_of(self.latencies.parts(min(parts, blocks_of_latencies)), tick_ns))
        return measured


def compare(first: Measurements, second: Measurements, parts: int = MOST_PARTS) -> Comparison:
    """Compare two recordings.

    Parameters
    ----------
    first, second : Measurements
        The recordings.
    parts : int
        Parts that each is cut into, at most; a short recording has fewer.
    """
    counts = first.parts(parts), second.parts(parts)
    sides = tuple(
        Side(
            each.path,
            each.records,
            count,
            each.sums.elapsed,
            each.sums.holes,
            each.sums.is_at_least,
            _worth_a_note(each.loss),
            each.sums.tick_ns,
            each.sums.tick_text,
        )
        for each, count in zip((first, second), counts, strict=True)
    )
    is_timed = first.sums.tick_ns is not None and second.sums.tick_ns is not None
    before, after = (
        each.measured(count, each.sums.tick_ns if is_timed else None) for each, count in zip((first, second), counts, strict=True)
    )
    left_out = RATES if first.sums.is_at_least or second.sums.is_at_least else ()
    keys = [key for key in before if key in after and key[0] not in left_out and before[key][0] == after[key][0]]
    return Comparison(
        recordings=(sides[0], sides[1]),
        warnings=list(_warnings(first, second, counts)),
        totals=list(_totals(first.totals, second.totals)),
        measures=_measures({key: (*before[key], after[key][1]) for key in keys}),
        errors=error_counts(first.errors, second.errors),
    )


def _measures(pairs: Mapping[Key, tuple[str, Sample, Sample]]) -> list[Measure]:
    """Compare measures: the unit, and the values of the parts of both recordings, by what is measured."""
    tests = {key: rank_test(before, after) for key, (_, before, after) in pairs.items()}
    enough = [key for key, (_, before, after) in pairs.items() if min(len(before), len(after)) >= FEWEST_PARTS]
    rates = dict(zip(enough, corrected([tests[key][0] for key in enough]), strict=True))
    measures = []
    for key, (unit, before, after) in pairs.items():
        name, direction, class_ = key
        medians = float(np.median(before)), float(np.median(after))
        delta, rate = tests[key][1], rates.get(key, 1.0)
        verdict = Verdict.FEW
        if key in rates:
            differs = rate < _RATE and abs(delta) >= _DELTA and medians[0] != medians[1]
            verdict = Verdict.SAME if not differs else Verdict.HIGHER if delta > 0 else Verdict.LOWER
        measures.append(
            Measure(
                name=name,
                unit=unit,
                direction=direction,
                class_=class_,
                medians=medians,
                spreads=(_spread(before), _spread(after)),
                change_percent=None if not medians[0] else 100 * (medians[1] - medians[0]) / medians[0],
                interval=median_interval(before, after),
                delta=delta,
                effect=effect_of(delta),
                rate=rate,
                verdict=verdict,
            )
        )
    return sorted(measures, key=lambda one: (one.verdict in (Verdict.SAME, Verdict.FEW), one.rate, -abs(one.delta)))


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


def _warnings(first: Measurements, second: Measurements, counts: tuple[int, int]) -> Iterator[Diagnostic]:
    """Yield what speaks against the comparison."""

    def warning(code: str, message: str, hint: str | None = None) -> Diagnostic:
        return Diagnostic(Severity.WARNING, code, message, hint)

    same = "record both with the same options of 'ptttool trace'"
    one, other = first.captured, second.captured
    unknown = [_unknown_share(each.totals) for each in (first, second)]
    if abs(unknown[0] - unknown[1]) > _UNKNOWN_DIFFERENCE:
        shares = f"{unknown[0]:.0%} of the TLPs of A, {unknown[1]:.0%} of those of B"
        yield warning(
            "unknown-direction",
            f"the direction is not known of {shares}: they are not compared with TLPs of known direction",
            "--downstream names the buses behind the traced ports",
        )
    if one.format != other.format:
        yield warning("other-format", "the recordings have records of different formats", same)
    if one.flow != other.flow:
        yield warning("other-tlps", f"the recordings were asked for different TLPs: A {one.title}; B {other.title}", same)
    if first.filter != second.filter:
        yield warning("other-filter", "the recordings were filtered for different ports or requesters", same)
    for label, each in zip("AB", (first, second), strict=True):
        if each.sums.dropped is not None:
            yield replace(each.sums.dropped, message=f"{label}: {each.sums.dropped.message}")
    if first.scope.time_model is not second.scope.time_model or (first.sums.tick_ns is None) != (second.sums.tick_ns is None):
        yield warning("other-time", "the Time fields of the recordings are read in different ways", "--time-model counter, or delta")
    short = [label for label, each in zip("AB", (first, second), strict=True) if each.sums.is_at_least]
    if short:
        yield warning(
            "time-at-least",
            f"more time passed in {in_words(short)} than was seen: rates and lengths in time are not compared",
            "--format 8dw records a Time field of 32 bits",
        )
    lengths, what = (first.records, second.records), "TLPs"
    if first.sums.elapsed and second.sums.elapsed and not short:
        lengths, what = (first.sums.elapsed, second.sums.elapsed), "ticks"
    if min(lengths) * _FACTOR < max(lengths):
        yield warning("other-length", f"the recordings differ in length: {lengths[0]:,} and {lengths[1]:,} {what}")
    for label, each, count in zip("AB", (first, second), counts, strict=True):
        if _worth_a_note(each.loss):
            yield warning(
                "loss", f"{label} has signs of loss: what is missing is not in the comparison", "'ptttool analyze loss' shows them"
            )
        if count < FEWEST_PARTS:
            yield warning("too-short", f"{label} has {each.records:,} TLPs: too few to tell a difference from noise", "record for longer")


_CHANGE_COLUMNS: Final = (
    text_column("Measure"),
    text_column("TLPs"),
    Column("A"),
    Column("B"),
    text_column("Unit", 1),
    Column("Change", Unit.PERCENT),
    Column("Delta", weight=1),
    text_column("Effect", 2),
    text_column("Middle half of A", 3),
    text_column("Middle half of B", 3),
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


def _change_row(measure: Measure) -> list[Cell]:
    which = " ".join(part for part in (measure.direction, measure.class_) if part) or "all"
    spreads = [f"{number_text(low)} to {number_text(high)}" for low, high in measure.spreads]
    effect = str(measure.effect) if measure.verdict is not Verdict.FEW else "too few parts"
    return [
        measure.name, which, *measure.medians, measure.unit, measure.change_percent, round(measure.delta, 2), effect, *spreads,
    ]  # fmt: skip


def _total_row(total: Total) -> list[Cell]:
    return [f"{total.direction} {total.class_ or 'unknown'}", *total.tlps, *total.bytes, *total.requested_bytes]


def _about(side: Side) -> str:
    time = "" if side.elapsed_ticks is None else f", {'at least ' if side.is_at_least else ''}{side.elapsed_ticks:,} ticks"
    holes = f", {side.holes:,} holes" if side.holes else ""
    tick = "" if side.tick_text is None else f", a tick of {side.tick_text}"
    return f"{side.records:,} TLPs{time}{holes}{tick}"
