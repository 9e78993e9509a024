"""Nanoseconds of a tick, by the timestamps of the AUX records: perf's clock says when the driver committed a buffer of trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ptttool.analyses.time.model import TimeModel
from ptttool.recording.auxtrace import DMA_BUFFER

if TYPE_CHECKING:
    from ptttool.analyses.time.clock import Clock
    from ptttool.perfdata.model import AuxEvent

FEWEST_CHUNKS: Final = 3
"""Chunks that a fit needs: two pairs of neighbours, one more than there are unknowns."""
LARGEST_ERROR: Final = 0.02
"""The largest relative standard error of a fit that is used."""
# Of all steps of 11 bits: from this share of wide ones on, unseen time may change the result by more than the error.
_MOST_WIDE: Final = 1e-5


class CalibrationState(StrEnum):
    """Whether a calibration can be used, and if not, why."""

    USED = "used"
    """The chunks agree."""
    TOO_FEW_CHUNKS = "too-few-chunks"
    """Fewer than three chunks of trace have a time of their own."""
    BAD_FIT = "bad-fit"
    """The chunks do not agree: the model of time is wrong, or time or data were lost."""
    TIME_UNSEEN = "time-unseen"
    """The chunks agree, but in 11 bits a part of the time of idle gaps is not seen, so a tick would seem longer than it is."""


class Calibration(Struct, frozen=True):
    """What the timestamps of the AUX records say of a tick.

    Parameters
    ----------
    state : CalibrationState
        Whether it is used.
    chunks : int
        Chunks of trace that were compared: those whose end has a time on perf's clock and in ticks.
    tick_ns : float or None
        Nanoseconds of a tick, also where it is not used; None without a fit.
    error : float or None
        Its relative standard error.
    residual_ns : float or None
        Root mean square of the differences between the timestamps and the fit, in nanoseconds.
    smallest_ns, largest_ns : float or None
        The extremes of the nanoseconds of a tick in single chunks: far apart where time is lost.
    """

    state: CalibrationState
    chunks: int
    tick_ns: float | None = None
    error: float | None = None
    residual_ns: float | None = None
    smallest_ns: float | None = None
    largest_ns: float | None = None


def calibrate(clock: Clock, events: Sequence[AuxEvent]) -> Calibration:
    """Fit the ticks of a recording to the timestamps of its AUX records.

    The driver commits a buffer when it is full; what it commits at the end of a trace came some time before. So the last AUX record of a
    stream counts only where it ends with a full buffer. Between two AUX streams, and over breaks, nothing is compared.

    Parameters
    ----------
    clock : Clock
        The clock of the whole recording.
    events : sequence of AuxEvent
        Its AUX records.
    """
    chains = list(_chains(clock, events))
    chunks = sum(len(ticks) for ticks, _ in chains)
    # A chain of n chunks has n - 1 intervals, and its own origin.
    ticks = np.concatenate([each - each.mean() for each, _ in chains]) if chains else np.zeros(0)
    times = np.concatenate([each - each.mean() for _, each in chains]) if chains else np.zeros(0)
    freedom = chunks - len(chains) - 1
    spread = float((ticks * ticks).sum())
    if chunks < FEWEST_CHUNKS or freedom < 1 or not spread:
        return Calibration(CalibrationState.TOO_FEW_CHUNKS, chunks)
    tick_ns = float((ticks * times).sum()) / spread
    rest = times - tick_ns * ticks
    squares = float((rest * rest).sum())
    singles = np.concatenate([np.diff(moments) / np.maximum(np.diff(each), 1) for each, moments in chains])
    error = (squares / freedom / spread) ** 0.5 / abs(tick_ns) if tick_ns else np.inf
    state = CalibrationState.USED
    if not tick_ns > 0 or error > LARGEST_ERROR:
        state = CalibrationState.BAD_FIT
    elif clock.wide > _MOST_WIDE * clock.rows:
        state = CalibrationState.TIME_UNSEEN
    return Calibration(state, chunks, tick_ns, float(error), (squares / chunks) ** 0.5, float(singles.min()), float(singles.max()))


Floats = npt.NDArray[np.float64]


def _chains(clock: Clock, events: Sequence[AuxEvent]) -> Iterator[tuple[Floats, Floats]]:
    """Yield the ticks and the timestamps of chunks that follow each other without a break, two at least."""
    if clock.model is TimeModel.UNKNOWN:
        return
    streams: dict[int, list[AuxEvent]] = {}
    for event in events:
        streams.setdefault(-1 if event.cpu is None else event.cpu, []).append(event)
    for cpu, stream in streams.items():
        if (stream[-1].offset + stream[-1].size) % DMA_BUFFER:
            stream.pop()
        timed = [(event.offset + event.size, event.time) for event in stream if event.time is not None and event.size]
        ends = np.array([end for end, _ in timed], dtype=np.int64)
        times = np.array([time for _, time in timed], dtype=np.int64)
        if len(ends) < 2 or (np.diff(ends) <= 0).any():
            continue
        ticks, segments = clock.marks.moments(cpu, ends)
        for segment in np.unique(segments[segments >= 0]).tolist():
            chosen = segments == segment
            if np.count_nonzero(chosen) > 1:
                yield ticks[chosen].astype(np.float64), (times[chosen] - times[chosen][0]).astype(np.float64)
