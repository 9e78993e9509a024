"""perf is installed and can record a PTT device."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import PerfError, PtttoolError


@check("perf", order=20, error=PerfError)
def perf_can_record(host: Host, _plan: Plan) -> Iterator[Diagnostic]:
    """Look at the perf on PATH: its architecture, its build options."""
    perf = host.perf
    problem = perf if isinstance(perf, PtttoolError) else perf.problem()
    if problem is not None:
        yield Diagnostic(Severity.ERROR, problem.code, problem.message, problem.hint, details=problem.details)
