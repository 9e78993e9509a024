"""What is known of time in a recording, and what is not: part of every result that speaks of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ptttool.analyses.shown import Facts, Note, Part, Unit
from ptttool.analyses.time.calibration import Calibration, CalibrationState, calibrate
from ptttool.analyses.time.kept import DROPPED, NOTHING_KEPT, KeptTime, TickFloor, against
from ptttool.analyses.time.model import TimeEvidence, TimeModel, TimeSign
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.measured import KeptClock
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.analyses.time.clock import Clock
    from ptttool.perfdata.model import AuxEvent

# A tick that the user names, and one that the calibration gives, differ if they are further apart than this.
_DIFFERENT: Final = 0.05

_SIGNS: Final = {
    TimeSign.RISES: "rises nearly all the time",
    TimeSign.DIFFERENCES_REPEAT: "takes all values alike, while its differences repeat",
    TimeSign.JUMPS: "falls about as often as it rises, and comes back to the same values",
    TimeSign.AMBIGUOUS: "fits a counter as badly as differences",
    TimeSign.TOO_FEW: "changes too seldom to tell",
}


class TimeFacts(Struct, frozen=True):
    """What is known of time in a recording.

    Parameters
    ----------
    model : TimeModel
        How the Time field is read.
    asked : bool
        Whether the user chose the model; else it follows from the evidence.
    evidence : TimeEvidence or None
        What the first records show; None where they were not looked at.
    bits : int
        Bits of the Time field.
    tick_ns : float or None
        Nanoseconds of a tick; None where they are not known.
    tick_from : str or None
        ``asked`` where the user said it; ``sidecar`` where the clock that is kept beside the recording says it; ``calibrated`` where it
        follows from the timestamps of the AUX records.
    clock : KeptClock or None
        The clock that is kept beside the recording, as measured on its machine; also where it is not used.
    calibration : Calibration or None
        What those timestamps say; None where the model of time is not known.
    elapsed_ticks : int or None
        Ticks from the first to the last record, without the time over breaks.
    elapsed_ns : float or None
        The same in nanoseconds.
    breaks : int
        How often it is not known how much time passed between two neighbouring records.
    holes : int
        How often records may be missing between two; each is a break.
    back : int
        How often the counter went back; each is a break.
    notes : list of Diagnostic
        What is odd, and what is not known.
    """

    model: TimeModel
    asked: bool
    evidence: TimeEvidence | None
    bits: int
    tick_ns: float | None
    tick_from: str | None
    clock: KeptClock | None
    calibration: Calibration | None
    elapsed_ticks: int | None
    elapsed_ns: float | None
    breaks: int
    holes: int
    back: int
    notes: list[Diagnostic]

    @property
    def unit(self) -> Unit:
        """The unit in which times are shown."""
        return Unit.TICKS if self.tick_ns is None else Unit.NANOSECONDS

    @property
    def is_at_least(self) -> bool:
        """Whether more time may have passed than ``elapsed_ticks``: gaps of unknown length, or 11 bits that hide a part of long ones."""
        return bool(self.breaks) or self.bits < 32

    @property
    def hides_time(self) -> bool:
        """Whether more time passed than is seen, for all that is known: rates are then at most what they seem."""
        return bool(self.breaks) or any(note.code == "time-11-bits" and note.severity is Severity.WARNING for note in self.notes)

    def scaled(self, ticks: float) -> float:
        """Return ticks in :attr:`unit`."""
        return ticks if self.tick_ns is None else ticks * self.tick_ns

    def shown(self) -> Iterator[Part]:
        """Yield what people see of it."""
        rows = [("Time field", f"{self.bits} bits, " + self._model())]
        if self.evidence is not None:
            rows.append(("Evidence", _evidence(self.evidence)))
        rows.append(("Tick", self.tick_text))
        if self.elapsed_ticks is not None:
            least = "at least " if self.is_at_least else ""
            rows.append(
                ("Elapsed", f"{least}{self.elapsed_ticks:,} ticks" + ("" if self.elapsed_ns is None else f", {_span(self.elapsed_ns)}"))
            )
        yield Facts(rows, "Time")
        for note in self.notes:
            yield Note(note.text, note.severity)

    def _model(self) -> str:
        if self.model is TimeModel.UNKNOWN:
            return "of unknown meaning"
        name = "a counter" if self.model is TimeModel.COUNTER else "the difference to the record before"
        seen = self.evidence is None or self.evidence.model is self.model
        return f"taken for {name} ({'--time-model' if self.asked else 'seen in the data' if seen else 'as it was measured'})"

    @property
    def dropped(self) -> Diagnostic | None:
        """What the recording says against the clock that is kept beside it; None where nothing does."""
        return next((note for note in self.notes if note.code == DROPPED), None)

    @property
    def tick_text(self) -> str:
        """How long a tick is, and who says so, for people."""
        if self.tick_ns is None:
            return "of unknown length"
        if self.tick_from == "sidecar":
            return f"{self.tick_ns:.6g} ns ({self.clock})"
        if self.tick_from == "asked" or self.calibration is None or self.calibration.error is None:
            return f"{self.tick_ns:g} ns (--tick-ns)"
        error = f"±{100 * self.calibration.error:.2g} %"
        return f"{self.tick_ns:.4g} ns (calibrated with {self.calibration.chunks} AUX records, {error})"


def time_facts(
    clock: Clock,
    events: Sequence[AuxEvent],
    *,
    asked: bool = False,
    evidence: TimeEvidence | None = None,
    tick_ns: float | None = None,
    kept: KeptTime = NOTHING_KEPT,
    floor: TickFloor | None = None,
) -> TimeFacts:
    """Return what is known of time.

    Parameters
    ----------
    clock : Clock
        The clock of the whole recording.
    events : sequence of AuxEvent
        The AUX records.
    asked : bool
        Whether the user chose the model of time.
    evidence : TimeEvidence or None
        What the first records show.
    tick_ns : float or None
        Nanoseconds of a tick, where the user said so.
    kept : KeptTime
        What is kept beside the recording.
    floor : TickFloor or None
        How long a tick is at least, by the link.
    """
    has_model = clock.model is not TimeModel.UNKNOWN
    calibration = calibrate(clock, events) if has_model else None
    asked_ns, tick_from = tick_ns, "asked"
    tick_ns = tick_ns if has_model else None
    dropped = None if asked_ns is not None or not has_model else against(kept, clock, calibration, floor)
    if tick_ns is None and dropped is None and has_model:
        if kept.clock is not None:
            tick_ns, tick_from = kept.clock.tick_ns, "sidecar"
        elif calibration is not None and calibration.state is CalibrationState.USED:
            tick_ns, tick_from = calibration.tick_ns, "calibrated"
    elapsed = clock.elapsed if has_model else None
    notes = [] if dropped is None else [dropped]
    notes += _notes(clock, calibration, evidence if asked else None, tick_ns, asked_ns, kept.clock)
    return TimeFacts(
        model=clock.model,
        asked=asked,
        evidence=evidence,
        bits=clock.bits,
        tick_ns=tick_ns,
        tick_from=None if tick_ns is None else tick_from,
        clock=kept.clock,
        calibration=calibration,
        elapsed_ticks=elapsed,
        elapsed_ns=None if tick_ns is None or elapsed is None else elapsed * tick_ns,
        breaks=clock.breaks,
        holes=clock.holes,
        back=clock.back,
        notes=notes,
    )


def _notes(
    clock: Clock,
    calibration: Calibration | None,
    evidence: TimeEvidence | None,
    used: float | None,
    asked: float | None,
    kept: KeptClock | None,
) -> Iterator[Diagnostic]:
    if not clock.rows:
        return
    if clock.model is TimeModel.UNKNOWN:
        yield Diagnostic(
            Severity.WARNING, "time-unknown", "what the Time field counts is not known: nothing is said of time",
            "--time-model counter or delta reads it as one or the other",
        )  # fmt: skip
    model = TimeModel.UNKNOWN if evidence is None else evidence.model
    if TimeModel.UNKNOWN not in (model, clock.model) and model is not clock.model:
        yield Diagnostic(Severity.WARNING, "time-model-doubtful", f"the first records speak for the time model {model}, not {clock.model}")
    if clock.holes:
        yield Diagnostic(
            Severity.WARNING, "time-holes",
            f"records may be missing at {counted(clock.holes, 'point')}: the time that passed there is not known and not counted",
            details={"holes": clock.holes},
        )  # fmt: skip
    if clock.back:
        yield Diagnostic(
            Severity.WARNING, "time-back",
            f"the counter went back {counted(clock.back, 'time')}: the time that passed there is not known and not counted",
            details={"back": clock.back},
        )  # fmt: skip
    if clock.bits < 32 and clock.model is not TimeModel.UNKNOWN:
        lost = (
            "of a gap of 2048 ticks or more, multiples of 2048 are not seen"
            if clock.model is TimeModel.COUNTER
            else "no gap is longer than 2047"
        )
        yield Diagnostic(
            Severity.WARNING if clock.wide else Severity.INFO, "time-11-bits",
            f"the Time field has 11 bits: {lost}; {_wide(clock.wide)}",
            details={"wide": clock.wide},
        )  # fmt: skip
    if calibration is not None:
        yield from _calibration_notes(calibration, used, asked)
    if asked is not None and kept is not None and KeptTime(kept).fits(clock.model, clock.bits):
        tick = kept.tick_ns
        if abs(tick - asked) > _DIFFERENT * asked:
            yield Diagnostic(
                Severity.WARNING, "tick-doubtful", f"a tick is {tick:.6g} ns, {kept}: not {asked:g} ns",
                details={"asked": asked, "clock": kept},
            )  # fmt: skip


def _calibration_notes(calibration: Calibration, used: float | None, asked: float | None) -> Iterator[Diagnostic]:
    tick = calibration.tick_ns
    match calibration.state:
        case CalibrationState.BAD_FIT:
            yield Diagnostic(
                Severity.INFO if used is not None else Severity.WARNING, "calibration-bad-fit",
                f"the ticks of {calibration.chunks} chunks do not fit their timestamps: one says {calibration.smallest_ns:.4g} ns a tick, "
                f"another {calibration.largest_ns:.4g} ns" + ("" if used is not None else ", so no nanoseconds are given"),
                None if used is not None else "--tick-ns names the length of a tick",
            )  # fmt: skip
        case CalibrationState.TIME_UNSEEN:
            yield Diagnostic(
                Severity.INFO, "calibration-time-unseen",
                f"the timestamps say {tick:.4g} ns a tick at most: the time of long gaps is not all seen"
                + ("" if used is not None else ", so no nanoseconds are given"),
            )  # fmt: skip
        case CalibrationState.USED if asked is not None and tick is not None and abs(tick - asked) > _DIFFERENT * asked:
            yield Diagnostic(
                Severity.WARNING, "tick-doubtful", f"the timestamps of the AUX records say {tick:.4g} ns a tick, not {asked:g} ns"
            )


def _wide(gaps: int) -> str:
    """Say what gaps that may hide ticks mean for the numbers."""
    if not gaps:
        return "no gap is so long that this is likely"
    are = "gap is" if gaps == 1 else "gaps are"
    return f"{gaps:,} {are} so long that this is likely: times are at least, and rates at most, what is shown"


def _evidence(evidence: TimeEvidence) -> str:
    sentence = f"in the first {evidence.records:,} records it {_SIGNS[evidence.sign]}"
    if evidence.falls is None:
        return sentence
    sentence += f" (falls in {100 * evidence.falls:.3g} % of its changes"
    if evidence.bits < 32:
        sentence += f"; entropy {evidence.value_entropy:.1f} bits, of differences {evidence.difference_entropy:.1f}"
    return sentence + ")"


def _span(nanoseconds: float) -> str:
    for name, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.4g} {name}"
    return f"{nanoseconds:.4g} ns"
