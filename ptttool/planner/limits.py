"""What a recording of a plan cannot show, however well it goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.needs import LackCode
from ptttool.capture.event.terms import Direction, Format
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.measured import Measured
from ptttool.pci import PciAddress
from ptttool.planner.runs import Run, Wanted, lacking, matching
from ptttool.wording import in_words

_TIMED = ("latency", "outstanding", "mmio", "bandwidth", "io")


def limits_of(
    purposes: Sequence[str],
    needs: Sequence[Wanted],
    runs: Sequence[Run],
    requester: PciAddress | None,
    *,
    has_pattern: bool = False,
    measured: Measured | None = None,
) -> Iterator[Diagnostic]:
    """Yield what recordings of the runs cannot show of the purposes.

    Parameters
    ----------
    purposes : sequence of str
        The purposes.
    needs : sequence of Wanted
        What they need.
    runs : sequence of Run
        The runs of the plan.
    requester : PciAddress or None
        The one requester that is traced.
    has_pattern : bool
        Whether the PMU has the term ``pattern``.
    measured : Measured or None
        What the self-test has measured on this machine.
    """
    for one, lack in lacking(needs, runs, None if requester is None else requester.routing_id):
        severity = Severity.WARNING if lack.is_vital else Severity.INFO
        message = f"{one.purpose}: {lack.what}: no run traces them"
        if lack.code is LackCode.FILTERED:
            message = f"{one.purpose}: {lack.what}: possibly not all, since {lack.why}"
        yield Diagnostic(severity, lack.code, message, details={"purpose": one.purpose, "what": lack.what})
    for purpose in purposes:
        analysis = ANALYSES.get(purpose)
        if analysis.one_need_is_enough:
            for other in analysis.needs:
                if not any(run.brings(other) for run in runs):
                    message = f"{other.what} are not in the plan; they take a recording of their own: ptttool trace {other.options}"
                    yield _note("other-need", f"{purpose}: {message}", purpose=purpose, options=other.options)
    if len(runs) > 1:
        message = f"{len(runs)} runs, one after another: they see different moments, and no transaction is matched across them"
        yield _note("one-after-another", message)
    if any(run.direction is Direction.BOTH and len(run.types) > 1 for run in runs):
        yield from _of_both(purposes, measured)
    yield from _of_format(purposes, runs)
    if set(purposes) & set(_TIMED) and (measured is None or not all(run.format in measured.clocks for run in runs)):
        message = "times are in ticks of the device: no document says how long a tick is; 'ptttool selftest' measures it"
        yield _note("ticks", message)
    if has_pattern and matching(purposes):
        message = "tags above 1023 (PCIe 6) need --pattern v1: without it, requests that differ in the upper bits look the same"
        yield _note("pattern", message)
    if matching(purposes):
        message = "requests that began before the recording or end after it lack one end: in a short recording these are many"
        yield _note("open-ends", message)
    message = "the driver does not flag losses: only signs in the recording show a trace that ended early, or an overwritten buffer"
    yield _note("silent-loss", message)


def _of_both(purposes: Sequence[str], measured: Measured | None) -> Iterator[Diagnostic]:
    """Yield what recordings of both directions and several types may lack."""
    seen = None if measured is None else measured.several_types_outbound
    needed = "requests and their completions need two types in one recording with outbound TLPs"
    if seen is None:
        message = f"{needed}; the kernel documentation allows one type outbound, so ptttool looks afterwards whether both are there"
        yield _note("several-types-outbound", message)
    elif not seen:
        message = f"{needed}; the self-test found that this device records one type only"
        yield Diagnostic(Severity.WARNING, "one-type-outbound", message)
    if measured is not None and measured.in_order is False and matching(purposes):
        message = "the self-test found TLPs of both directions out of order: some completions may come before their requests"
        yield Diagnostic(Severity.WARNING, "out-of-order", message)


def _of_format(purposes: Sequence[str], runs: Sequence[Run]) -> Iterator[Diagnostic]:
    formats = {run.format for run in runs}
    if Format.DW4 in formats and not set(purposes) <= {"loss"}:
        where = "" if len(formats) == 1 else f" in the runs {in_words(run.name for run in runs if run.format is Format.DW4)}"
        message = f"4DW records have no prefix (PASID), no poisoned bit and no attributes{where}"
        message += ", and 11 bits of time: gaps of 2,048 ticks or more have no known length"
        yield _note("4dw", message)
    if Format.DW8 in formats:
        message = "8DW records are of one direction: a request and its completion are never in one recording"
        yield _note("8dw", message)


def _note(code: str, message: str, **details: object) -> Diagnostic:
    return Diagnostic(Severity.INFO, code, message, details=details)
