"""What is known of a recording before its first row, for the analyses of TLPs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from ptttool.analyses.budget import MAX_LINE_POINTS
from ptttool.analyses.scope import Scope
from ptttool.analyses.time.kept import KeptTime
from ptttool.analyses.time.model import FINEST, TimeModel
from ptttool.errors import UsageError
from ptttool.machine.measured import LONGEST_TICK, SHORTEST_TICK

if TYPE_CHECKING:
    from ptttool.analyses.time.model import TimeEvidence
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import OpenRecording

# Parts of a recording that are looked at: they are small where there are all-zero records, or many formats.
_MOST_PARTS = 16
AUTO = "auto"
"""The time model that follows from the recording."""


class TimeOptions(Struct, frozen=True):
    """What the user says of time.

    Parameters
    ----------
    time_model : str or TimeModel
        How the Time field is read; ``auto`` to see from the recording.
    tick_ns : float or None
        Nanoseconds of a tick.
    """

    time_model: str | TimeModel = AUTO
    tick_ns: float | None = None


def scope_of(recording: OpenRecording, time: TimeOptions, machine: Machine | None = None) -> Scope:
    """Return the scope of a recording.

    Parameters
    ----------
    recording : OpenRecording
        The recording.
    time : TimeOptions
        What the user says of time.
    machine : Machine or None
        The machine that was recorded, where it is known.

    Raises
    ------
    UsageError
        There is no such time model (code ``bad-time-model``), or a tick is shorter or longer than any (``bad-tick``).
    """
    from ptttool.analyses.needs import captured
    from ptttool.analyses.regions import regions_of
    from ptttool.capture.event.terms import Format

    time_model, tick_ns = time.time_model, time.tick_ns
    models = (AUTO, *(model.value for model in TimeModel))
    if str(time_model) not in models:
        raise UsageError(f"unknown time model {str(time_model)!r}", hint="known: " + ", ".join(models), code="bad-time-model")
    if tick_ns is not None and not SHORTEST_TICK <= tick_ns <= LONGEST_TICK:
        raise UsageError(
            f"a tick of {tick_ns} ns is not between {SHORTEST_TICK:g} ns and {LONGEST_TICK:,g} ns", hint="--tick-ns 4", code="bad-tick"
        )
    evidence = _evidence(recording)
    format_bits = 11 if captured(recording.contents, machine=machine).format is Format.DW4 else 32
    bits = format_bits if evidence is None else evidence.bits
    asked = time_model != AUTO
    sidecar = recording.sidecar
    kept = KeptTime() if sidecar is None else KeptTime(sidecar.clock, sidecar.seconds)
    model = TimeModel(time_model) if asked else kept.model(evidence)
    return Scope(
        time_model=model,
        time_bits=bits,
        time_asked=asked,
        evidence=evidence,
        tick_ns=tick_ns,
        regions=regions_of(machine),
        grain=_grain(recording.size),
        kept=kept,
    )


def _evidence(recording: OpenRecording) -> TimeEvidence | None:
    """Return what the first records of a recording show of their Time field; None where there are too few."""
    from ptttool.analyses.time.clock import CLOCK_COLUMNS
    from ptttool.analyses.time.evidence import LOOK, Look

    look = Look()
    for parts, rows in enumerate(recording.look(LOOK), 1):
        look.add(rows.batch(CLOCK_COLUMNS))
        if look.records >= LOOK or parts == _MOST_PARTS:
            break
    return look.evidence


def _grain(size: int | None) -> int:
    """Return the size of the finest pieces of AUX data of a time line, as an exponent of two: some more than it has points."""
    return FINEST if size is None else max(FINEST, (size // MAX_LINE_POINTS).bit_length() - 2)
