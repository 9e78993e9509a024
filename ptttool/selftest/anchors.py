"""Coded reads during a trace: each recording gets its own clock, with its error."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ptttool.capture.plan import Plan
from ptttool.capture.sidecar import load, save
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PtttoolError, UsageError
from ptttool.files.ownership import scratch_folder
from ptttool.machine.measured import ClockSource, KeptClock
from ptttool.machine.model import PciFunction
from ptttool.machine.sources.contract import Source
from ptttool.machine.topology import endpoints_behind
from ptttool.selftest import readings
from ptttool.selftest.evidence import look
from ptttool.selftest.run import CODED_READS, sleeps
from ptttool.selftest.tick import TickRange, model_of, tick_range

EVERY: Final = 0.1
"""Seconds between two reads."""
# Fewer reads may fit some tick by chance: 11 bits turn round unseen.
_FEWEST: Final = 8
_PATIENCE: Final = 5.0
CODE: Final = "no-anchors"


class Anchors:
    """Reads that go on while something is recorded.

    Parameters
    ----------
    function : PciFunction
        The function that is read.
    output : Path
        Where the readings will be.
    """

    def __init__(self, function: PciFunction, output: Path) -> None:
        self.function = function
        self._output = output
        config = f"/sys/bus/pci/devices/{function.address}/config"
        words = [sys.executable, "-I", "-S", str(CODED_READS), config, str(function.address), str(output), f"every {EVERY}"]
        # Its standard input ends with this process, and so do the reads. Ctrl-C is not for it.
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
        )

    def stop(self) -> None:
        """End the reads."""
        with suppress(subprocess.TimeoutExpired):
            self._process.communicate(timeout=_PATIENCE)
        self._process.kill()
        self._process.wait()

    def clock(self, recording: Path) -> tuple[KeptClock | None, Diagnostic]:
        """Return the clock of a recording that was made meanwhile, and what is to be said of it."""
        self.stop()
        try:
            made = readings.load(self._output)
            evidence = look(recording.name, recording, made)
        except PtttoolError as error:
            return None, _none(error.message)
        fitting: list[tuple[str, TickRange]] = []
        for found in (evidence.requests, evidence.completions):
            before, after = made.before[found.reads], made.after[found.reads]
            ranges = {model: tick_range(passed, before, after) for model, passed in found.passed.items()}
            model = model_of(ranges)
            best = None if model is None else ranges[model]
            if len(found) >= _FEWEST and model is not None and best is not None:
                fitting.append((model, best))
        if not fitting:
            seen = max(len(evidence.requests), len(evidence.completions))
            why = "" if made.problem is None else f"; {made.problem}"
            return None, _none(
                f"{seen:,} of {len(made):,} coded reads are in the recording: fewer than {_FEWEST}, or no tick fits them{why}"
            )
        model, best = min(fitting, key=lambda one: one[1].error)
        when = datetime.now(UTC).astimezone().isoformat(timespec="seconds")
        clock = KeptClock(model, evidence.bits, best.tick_ns, best.low_ns, best.high_ns, best.anchors, ClockSource.ANCHORS, when)
        message = f"{best.anchors:,} coded reads of {self.function.address} give {best.tick_ns:.6g} ns a tick, ±{1e6 * best.error:.3g} ppm"
        return clock, Diagnostic(Severity.INFO, "anchored", message, details={"clock": clock})


def _none(why: str) -> Diagnostic:
    hint = "'ptttool selftest' measures one that is kept"
    return Diagnostic(Severity.WARNING, CODE, f"the recording has no clock of its own: {why}", hint)


@contextmanager
def anchoring(plan: Plan, source: Source) -> Iterator[Anchors]:
    """Read registers of an endpoint while something is recorded.

    Raises
    ------
    UsageError
        The event does not trace such reads (``no-anchors``), or no endpoint that is awake is behind its root ports.
    """
    flow = plan.chosen.built.flow
    if plan.chosen.request.requester is not None or not ("NP" in flow.outbound or "CPL A" in flow.inbound):
        raise UsageError(
            "--anchors: this event traces no reads of the processor",
            hint="trace a root port, outbound np, or both directions with --completions a",
            code=CODE,
        )
    behind = [one for port in plan.addresses for one in endpoints_behind(plan.machine, port)]
    function = next((one for one in behind if not sleeps(source, one.address)), None)
    if function is None:
        raise UsageError("--anchors: no endpoint that is awake is behind the traced root ports", hint="leave it out", code=CODE)
    with scratch_folder() as folder:
        anchors = Anchors(function, folder / f"anchors{readings.SUFFIX}")
        try:
            yield anchors
        finally:
            anchors.stop()


def keep_clock(recording: Path, clock: KeptClock) -> None:
    """Write a clock into the sidecar of a recording.

    Raises
    ------
    OutputError, OSError
        The sidecar cannot be written.
    """
    sidecar = load(recording)
    if sidecar is not None:
        save(recording, replace(sidecar, clock=clock))
