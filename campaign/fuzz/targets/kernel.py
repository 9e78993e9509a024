"""The kernel's side beside a recording: samples of tracepoints, joined with a run of commands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from campaign.fuzz.targets.contract import Target, add, saved
from tests.support.joined import Run, run_of
from tests.support.tracepoints import ENTRY, EVENTS, Sample, comm, entry, fork, kernel_file, lost, sample, tracing_data


@cache
def _run() -> Run:
    return run_of(1, commands=6)


def seeds() -> Iterator[bytes]:
    """Make files with commands and interrupts, names, forks, and lost samples."""
    yield kernel_file(_run().samples(), comm(101, b"fio") + fork(102, 101, 5))
    yield kernel_file([Sample(ENTRY, 5, entry(45, b"nvme0q1"))], lost(3))


def run(data: bytes, place: Path) -> None:
    """Join the commands, and show them."""
    from ptttool.analyses.joined.join import Link, join
    from ptttool.analyses.shown import Table
    from ptttool.documents import dumps
    from ptttool.wording import clean

    path = str(saved(data, place, "run.kernel.data"))
    for bits in (11, 32):
        side = join(path, Link(_run().entries(bits=bits), time_bits=bits)).side
        dumps(side)
        for part in side.shown():
            texts: list[str] = []
            if isinstance(part, Table):
                texts = [cell for row in part.rows for cell in row if isinstance(cell, str)]
            assert all(clean(text) == text for text in texts)


WORDS = (
    b"PERFILE2",
    tracing_data(EVENTS)[:40],
    b"\tfield:",
    b"offset:",
    b"size:",
    b"__data_loc char[] ",
    b"nvme0q",
    sample(EVENTS, Sample(ENTRY, 1, entry(1, b"a"))),
)
add(Target("kernel-side", seeds, run, words=WORDS, most=1 << 15))
