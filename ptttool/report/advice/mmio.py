"""Advice on accesses of registers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ptttool.analyses.drawing.numbers import with_unit
from ptttool.analyses.mmio.document import Mmio
from ptttool.diagnostics import Severity
from ptttool.report.model import Advice, around

# Reads of one register in a row that are worth a look.
_POLLED: Final = 100


def on_mmio(result: Mmio) -> Iterator[Advice]:
    """Yield advice on registers that are polled."""
    longest = max(result.polling, key=lambda run: run.reads, default=None)
    if longest is None or longest.reads < _POLLED:
        return
    every = ""
    if longest.period_ticks is not None:
        every = f", one every {with_unit(round(result.time.scaled(longest.period_ticks)), result.time.unit)}"
    yield Advice(
        Severity.INFO,
        "polling",
        "mmio",
        f"The processor read the register {longest.register} {longest.reads:,} times in a row{every}: a driver polls it. Each read waits "
        "for the device; an interrupt, or a status that the device writes to memory, does not.",
        around(longest.index),
        {"register": longest.register, "reads": longest.reads, "index": longest.index},
    )
