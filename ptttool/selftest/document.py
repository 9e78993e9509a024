"""What the self-test says: each assumption confirmed, refuted or not tested, with the number and where it can be seen."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from ptttool.diagnostics import Diagnostic
from ptttool.documents import document
from ptttool.machine.measured import MeasuredClock


class Verdict(StrEnum):
    """What is said of an assumption."""

    CONFIRMED = "confirmed"
    """What was seen agrees with it, and would not if it were wrong."""
    REFUTED = "refuted"
    """What was seen contradicts it."""
    NOT_TESTED = "not tested"
    """Nothing that was seen decides it."""


class Judged(Struct, frozen=True):
    """An assumption, and what became of it.

    Parameters
    ----------
    name : str
        Its number: ``A1`` to ``A20``.
    subject : str
        What it is about, in a word or three.
    assumption : str
        What ptttool, or its reader, takes for granted.
    verdict : Verdict
        ``confirmed``, ``refuted`` or ``not tested``.
    message : str
        What was seen, with the number.
    recording : str or None
        The recording that shows it.
    indexes : tuple of int
        TLPs of that recording that show it.
    details : Mapping of str to object
        Numbers of it.
    """

    name: str
    subject: str
    assumption: str
    verdict: Verdict
    message: str
    recording: str | None = None
    indexes: tuple[int, ...] = ()
    details: Mapping[str, object] = {}


class TestedRecording(Struct, frozen=True):
    """A recording of the self-test.

    Parameters
    ----------
    name : str
        Its name.
    event : str or None
        The event that it was recorded with.
    tlps : int
        TLPs that it holds.
    reads : int
        Coded reads that were made meanwhile.
    requests, completions : int
        How many of these reads, and of their completions, are in it.
    """

    name: str
    event: str | None
    tlps: int
    reads: int
    requests: int
    completions: int


@document("selftest")
class SelfTest(Struct, frozen=True, kw_only=True):
    """What ``selftest --json`` prints.

    Parameters
    ----------
    origin : str
        Where the recordings were made: ``this machine``, or the folder that they were taken from.
    kernel : str or None
        Release of the machine's kernel.
    device : str or None
        The PTT device.
    function : str or None
        The PCI function that was read.
    load : str or None
        ``config`` or ``read``; null where recordings were taken from a folder.
    judged : tuple of Judged
        The assumptions, A1 to A20.
    clocks : Mapping of str to MeasuredClock
        The clock of the Time field by format, ``8dw`` and ``4dw``, where it was measured.
    recordings : tuple of TestedRecording
        What was recorded.
    kept : str or None
        The file that keeps the clocks for later traces.
    archive : str or None
        The archive with the recordings.
    diagnostics : tuple of Diagnostic
        What went wrong meanwhile.
    """

    origin: str
    kernel: str | None = None
    device: str | None = None
    function: str | None = None
    load: str | None = None
    judged: tuple[Judged, ...]
    clocks: Mapping[str, MeasuredClock]
    recordings: tuple[TestedRecording, ...]
    kept: str | None = None
    archive: str | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """Return how many assumptions got a verdict."""
        return sum(one.verdict is verdict for one in self.judged)
