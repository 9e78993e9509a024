"""What is known of a recording before its first row, for the analyses of TLPs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptttool.analyses.scope import Scope
from ptttool.analyses.time.model import TimeModel
from ptttool.errors import UsageError

if TYPE_CHECKING:
    from ptttool.machine.model import Machine
    from ptttool.pipeline.recording import Recording

AUTO = "auto"
"""The time model that follows from the recording."""


@dataclass(frozen=True)
class TimeOptions:
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


def scope_of(
    recording: Recording, *, machine: Machine | None = None, time_model: str | TimeModel = AUTO, tick_ns: float | None = None
) -> Scope:
    """Return the scope of a recording.

    Parameters
    ----------
    recording : Recording
        The recording.
    machine : Machine or None
        The machine that was recorded, where it is known.
    time_model : str or TimeModel
        How the Time field is read; ``auto`` to see from the recording.
    tick_ns : float or None
        Nanoseconds of a tick, where the user says so.

    Raises
    ------
    UsageError
        There is no such time model (code ``bad-time-model``), or a tick is not longer than nothing (``bad-tick``).
    """
    from ptttool.analyses.needs import captured
    from ptttool.capture.event.terms import Format

    known = (AUTO, *(model.value for model in TimeModel))
    if str(time_model) not in known:
        raise UsageError(f"unknown time model {str(time_model)!r}", hint="known: " + ", ".join(known), code="bad-time-model")
    if tick_ns is not None and not 0 < tick_ns < float("inf"):
        raise UsageError(f"a tick of {tick_ns} ns is not longer than nothing", hint="--tick-ns 4", code="bad-tick")
    model = TimeModel.UNKNOWN if time_model == AUTO else TimeModel(time_model)
    bits = 11 if captured(recording.contents, machine=machine).format is Format.DW4 else 32
    return Scope(time_model=model, time_bits=bits, tick_ns=tick_ns)
