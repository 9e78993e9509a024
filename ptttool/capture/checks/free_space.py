"""The disk has room for more than a moment of trace."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import OutputError

# Bytes of trace that a full Gen4 x16 link makes in a second: 256-byte writes, 4DW records (docs/recording.md).
_FULL_LINK = 1_800_000_000


@check("free-space", order=60, error=OutputError)
def room_for_trace(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Warn below four AUX areas: a link can carry gigabytes a second."""
    free = host.output.free
    if free is not None and free < 4 * plan.aux_size:
        message = (
            f"{host.output.folder} has room for {free >> 20} MiB, less than four AUX areas: a full Gen4 x16 link makes that much trace in "
            f"{free / _FULL_LINK:.2g} s"
        )
        yield Diagnostic(Severity.WARNING, "little-space", message, details={"free": free})
