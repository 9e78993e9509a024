"""The command to run while recording exists."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.checks.contract import check
from ptttool.capture.checks.host import Host
from ptttool.capture.plan import Plan
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import UsageError


@check("command", order=10, error=UsageError)
def command_exists(host: Host, plan: Plan) -> Iterator[Diagnostic]:
    """Look for the command on PATH."""
    if plan.command and host.command is None:
        yield Diagnostic(Severity.ERROR, "command-missing", f"there is no command {plan.command[0]!r}", "check its name and PATH")
