"""The disk has room for more than a moment of trace."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import OutputError


@check("free-space", order=60, error=OutputError)
def room_for_trace(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Warn below four AUX areas: a link can carry gigabytes a second."""
    free = host.output.free
    if free is not None and free < 4 * plan.aux_size:
        message = f"{host.output.folder} has room for {free >> 20} MiB only: a busy link fills that in less than a second"
        yield Diagnostic(Severity.WARNING, "little-space", message, details={"free": free})
