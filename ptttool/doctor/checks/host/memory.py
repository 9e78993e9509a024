"""There is memory for the AUX area."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.aux_area import available_memory
from ptttool.doctor.contract import Finding, check, failed, not_recorded, ok, unknown, warning
from ptttool.doctor.facts import Facts
from ptttool.errors import PerfError


@check("memory", order=57)
def memory(facts: Facts) -> Iterator[Finding]:
    """Compare the memory that is available with the AUX area, which cannot be swapped out."""
    free = available_memory(facts.source)
    if free is None:
        yield unknown("no-meminfo", "/proc/meminfo does not say how much memory is available") if facts.live else not_recorded("memory")
        return
    area = f"an AUX area of {facts.aux_size >> 20} MiB"
    fix = "ptttool trace --aux-size 16M" if facts.aux_size > 16 << 20 else None
    if free < facts.aux_size:
        yield failed(
            "no-memory",
            f"{free >> 20} MiB of memory are available, less than {area}",
            None,
            fix,
            error=PerfError,
            details={"available": free},
        )
    elif free < 4 * facts.aux_size:
        yield warning("little-memory", f"{free >> 20} MiB of memory are available, less than four times {area}", None, fix, available=free)
    else:
        yield ok(f"{free / (1 << 30):.1f} GiB of memory are available", available=free)
