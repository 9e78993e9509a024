"""The kernel's events can be recorded beside a trace."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.perf.tracepoints import GROUPS, missing_in, tracefs_of
from ptttool.diagnostics import Diagnostic
from ptttool.doctor.contract import Finding, check, not_recorded, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.wording import in_words


@check("tracepoints", order=68, needed=False)
def tracepoints(facts: Facts) -> Iterator[Finding]:
    """Look at the tracefs for the events of ``trace --with``."""
    folder = tracefs_of(facts.source)
    if folder is None:
        yield not_recorded("the tracepoints of the kernel")
    elif isinstance(folder, Diagnostic):
        yield unknown(folder.code, folder.message)
    else:
        missing = missing_in(facts.source, folder)
        there = [group for group in GROUPS if group not in missing]
        without = f"; not all events of {in_words(missing)}" if missing else ""
        yield ok(f"{in_words(there) or 'nothing'} can be recorded beside a trace{without}", missing=missing)
