"""perf prints the headers of 4DW records as they are."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.perf.tool import PerfTool
from ptttool.doctor.contract import Finding, check, not_recorded, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.machine.driver import series_of

# The last series that was seen to print them wrong; the correction came into mainline in June 2026; which releases have it is not known.
_LAST_WRONG = (6, 12)


@check("perf-text", order=43, needed=False)
def perf_text(facts: Facts) -> Iterator[Finding]:
    """Compare perf's version with those that print 4DW headers wrong. Recordings are good all the same, and ptttool reads them itself."""
    if facts.host is None:
        yield not_recorded("the perf tool")
        return
    perf = facts.host.perf
    if not isinstance(perf, PerfTool):
        yield unknown("no-perf", "no perf whose version could be looked at")
        return
    series = series_of(perf.version)
    if series is None:
        yield unknown("perf-version", f"{perf.path} does not say its version")
    elif series <= _LAST_WRONG:
        yield warning(
            "perf-prints-4dw-wrong",
            f"perf {perf.version} prints the headers of 4DW records wrong (perf report -D)",
            "its bit fields are in reversed order; recordings are good, and ptttool decodes them itself",
            "ptttool decode perf.data --to perf",
            perf_version=perf.version,
        )
    else:
        yield unknown(
            "perf-text-unknown",
            f"the version {perf.version} does not show whether perf report -D prints the headers of 4DW records right",
            perf_version=perf.version,
        )
