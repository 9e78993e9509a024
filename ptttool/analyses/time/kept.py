"""The clock that ``trace`` keeps beside a recording: what the recording says against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ptttool.analyses.time.model import TimeModel
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.measured import ClockSource, KeptClock

if TYPE_CHECKING:
    from ptttool.analyses.time.calibration import Calibration
    from ptttool.analyses.time.clock import Clock
    from ptttool.analyses.time.model import TimeEvidence

DROPPED: Final = "clock-dropped"
"""Code of what a recording says against the clock that is kept beside it."""
NOT_USED: Final = ": that clock is not used, and times are ticks"
"""The end of its message."""
# Of the relative standard error of a calibration: what is farther away is not chance.
_STANDARD_ERRORS: Final = 3.0
# Clocks of one machine may differ by this share: NTP corrects some of them by up to 500 ppm, and links may be 300 ppm off.
_CLOCKS: Final = 1e-3
# What a trace may last beyond the time between perf's answers: it begins before the first one is read, on a busy machine long before.
_SECONDS, _SHARE = 1.0, 0.05


class TickFloor(Struct, frozen=True):
    """The shortest that a tick can be: in less time the link could not have carried what was traced.

    Parameters
    ----------
    tick_ns : float
        A tick is at least so many nanoseconds: ``(wire_bytes - waiting_bytes) / ticks / bytes_per_second * 1e9``.
    direction : str
        The direction of the TLPs that say so.
    begin : int
        Where the interval with these TLPs begins, in ticks.
    ticks : int
        How long it is.
    index : int
        Number of its first TLP.
    wire_bytes : int
        Bytes on the link of the TLPs in it.
    waiting_bytes : int
        Of these, so many may have waited in buffers of the port, between the link and where TLPs are traced.
    links : list of str
        The fastest that each of the traced ports can be.
    bytes_per_second : float
        What these can carry together, in each direction.
    """

    tick_ns: float
    direction: str
    begin: int
    ticks: int
    index: int
    wire_bytes: int
    waiting_bytes: int
    links: list[str]
    bytes_per_second: float

    def __str__(self) -> str:
        """Say what shows it."""
        return (
            f"{self.wire_bytes:,} bytes {self.direction} in {self.ticks:,} ticks, from index {self.index} on; {self.waiting_bytes:,} of "
            f"them may have waited before, and the link is no faster than {' and '.join(self.links)}"
        )


class KeptTime(Struct, frozen=True):
    """What is kept beside a recording of its time.

    Parameters
    ----------
    clock : KeptClock or None
        The clock.
    seconds : float or None
        Seconds that were traced.
    """

    clock: KeptClock | None = None
    seconds: float | None = None

    def fits(self, model: TimeModel, bits: int) -> bool:
        """Whether the clock is kept of a Time field that is read so."""
        return self.clock is not None and (self.clock.model, self.clock.bits) == (model.value, bits)

    def model(self, evidence: TimeEvidence | None) -> TimeModel:
        """Return how the Time field is read: as the first records say, or else as the kept clock does."""
        if evidence is None:
            return TimeModel.UNKNOWN
        measured = self.clock
        if evidence.model is TimeModel.UNKNOWN and measured is not None and measured.bits == evidence.bits:
            return TimeModel(measured.model)
        return evidence.model


NOTHING_KEPT: Final = KeptTime()


def against(kept: KeptTime, clock: Clock, calibration: Calibration | None, floor: TickFloor | None) -> Diagnostic | None:
    """Return what a recording says against the clock that is kept beside it; None where nothing does.

    Parameters
    ----------
    kept : KeptTime
        What is kept, a clock among it.
    clock : Clock
        The clock of the whole recording.
    calibration : Calibration or None
        What the timestamps of its AUX records say.
    floor : TickFloor or None
        What its link says.

    Returns
    -------
    Diagnostic or None
        Its code is ``clock-dropped``; ``details["reason"]`` is ``bits``, ``model``, ``timestamps``, ``link`` or ``duration``, and
        ``details["seen"]`` what the recording says, as a number or a word.
    """
    measured = kept.clock
    if measured is None:
        return None
    found = next(_reasons(measured, kept.seconds, clock, calibration, floor), None)
    if found is None:
        return None
    reason, seen, why = found
    who = f"the self-test of {measured.when[:10]}" if measured.source is ClockSource.SELF_TEST else "the recording's own readings"
    message = f"{why}; {who} measured {measured.low_ns:.5g} to {measured.high_ns:.5g} ns{NOT_USED}"
    hint = "'ptttool selftest' measures it anew; --tick-ns names the length of a tick"
    return Diagnostic(Severity.WARNING, DROPPED, message, hint, details={"reason": reason, "seen": seen, "clock": measured})


def _reasons(
    measured: KeptClock, seconds: float | None, clock: Clock, calibration: Calibration | None, floor: TickFloor | None
) -> Iterator[tuple[str, object, str]]:
    """Yield reason, what was seen, and a sentence."""
    from ptttool.analyses.time.calibration import CalibrationState  # with NumPy

    if not clock.rows:
        return
    if measured.bits != clock.bits:
        yield "bits", clock.bits, f"the Time field has {clock.bits} bits, and the clock beside the recording {measured.bits}"
    if measured.model != clock.model.value:
        yield (
            "model",
            clock.model.value,
            f"the Time field is read by the model {clock.model}, and the clock beside the recording has the model {measured.model}",
        )
    if calibration is not None and calibration.tick_ns is not None and calibration.error is not None:
        tick = calibration.tick_ns
        error = tick * max(_STANDARD_ERRORS * calibration.error, _CLOCKS)
        # Where time is not all seen, the timestamps say how long a tick is at most.
        is_long = calibration.state is CalibrationState.USED and tick - error > measured.high_ns
        if is_long or (calibration.state in (CalibrationState.USED, CalibrationState.TIME_UNSEEN) and tick + error < measured.low_ns):
            yield "timestamps", tick, f"the timestamps of the AUX records say {tick:.5g} ns a tick (±{100 * calibration.error:.2g} %)"
    if floor is not None and floor.tick_ns > measured.high_ns * (1 + _CLOCKS):
        yield "link", floor.tick_ns, f"a tick is {floor.tick_ns:.4g} ns or more ({floor})"
    lasted = clock.elapsed * measured.low_ns / 1e9
    if seconds is not None and lasted > seconds * (1 + _SHARE) + _SECONDS:
        yield "duration", seconds, f"{clock.elapsed:,} ticks would be {lasted:.4g} s, and only {seconds:.4g} s were traced"
