"""The kernel's commands for an exporter of transactions, and where TLPs are in the time of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from ptttool.analyses.joined.document import OPCODES
from ptttool.analyses.joined.join import NEAR, Joined
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.errors import InputError
from ptttool.exporters.perfetto import MAX_SLICES, CommandTrace, TransactionTrace
from ptttool.pipeline.analyzing.commands import commands

if TYPE_CHECKING:
    from ptttool.pipeline.analyzing.ask import Ask
    from ptttool.pipeline.query import Query
    from ptttool.pipeline.recording import OpenRecording


def joined_commands(recording: OpenRecording, ask: Ask, notes: list[Diagnostic]) -> Joined | None:
    """Return the commands that both sides show; None where none are joined. Why is added to `notes`, and so is what else is to be said."""
    if ask.kernel is None:
        return None
    try:
        found = commands(recording, ask)
    except InputError as error:
        notes.append(Diagnostic(Severity.WARNING, error.code, error.message, where=ask.kernel))
        return None
    notes += found.side.notes
    return found if len(found.rows) else None


def with_commands(trace: TransactionTrace, found: Joined, query: Query, tick_ns: float | None) -> TransactionTrace:
    """Return a trace with the commands of the kernel that its transactions are part of.

    Parameters
    ----------
    trace : TransactionTrace
        The transactions.
    found : Joined
        The commands of both sides.
    query : Query
        Which transactions were wanted.
    tick_ns : float or None
        Nanoseconds of a tick, where they are known.
    """
    rows, requests = found.rows, trace.rows.request
    if query.offset or trace.left_out:
        # What came before the first of the transactions that are shown, or after the last, is left out with the others.
        first, last = (int(requests.min()), int(requests.max())) if len(requests) else (0, -1)
        begins, ends = (np.where(rows[one] >= 0, rows[one], rows[other]) for one, other in (("fetched", "ended"), ("ended", "fetched")))
        rows = rows[(begins <= last) & (ends >= first)]
    rows = rows[:MAX_SLICES]
    begin = tick = None
    why = _why_not_placed(found, tick_ns)
    about = {"kernel's events": Path(found.side.file).name, "commands": str(len(rows))}
    if len(found.rows) > len(rows):
        about["commands left out"] = str(len(found.rows) - len(rows))
    if why is None and found.clock is not None:
        low, high = found.clock.tick_ns
        line = found.clock.line(None if tick_ns is None else min(max(tick_ns, low), high))
        assert line is not None
        begin, tick = found.clock.start_ns + round(line[0]), line[1]
        about |= dict(_placement(trace, found, begin, tick))
    else:
        about["time of the kernel"] = f"TLPs are not placed in it: {why}. Commands are shown from fetch to completion entry, in ticks"
    return replace(trace, commands=CommandTrace(rows, OPCODES, begin, tick, about))


def _why_not_placed(found: Joined, tick_ns: float | None) -> str | None:
    """Return why TLPs have no place in the kernel's time; None if they have one."""
    band = found.side.clock
    if band is None:
        return "too little bounds the clock"
    if band.may_miss_ticks:
        return "ticks may be missing, as a Time field of 11 bits does not show long gaps, nor does a hole"
    if found.clock is None:
        return f"no clock fits both sides, which differ by {band.missed_ns / 1000:,.1f} µs at least"
    low, high = found.clock.tick_ns
    if tick_ns is not None and not low / NEAR <= tick_ns <= high * NEAR:
        return f"a tick is said to be {tick_ns:.6g} ns, and both sides together leave {low:.6g} to {high:.6g} ns"
    return None


def _placement(trace: TransactionTrace, found: Joined, begin: int, tick: float) -> Iterator[tuple[str, str]]:
    """Yield how well TLPs of the whole recording are placed: the error is largest at its ends."""
    assert found.clock is not None
    low, high = found.clock.tick_ns
    rows = found.rows
    seen = np.concatenate((trace.begins[-1:] + trace.width, rows["fetched_at"], rows["ended_at"]))
    ends = np.array([0, seen.max()], dtype=np.int64)
    first, last = found.clock.at(ends)
    placed = begin + np.rint(ends * tick).astype(np.int64)
    error = max(int((placed - first).max()), int((last - placed).max()))
    yield "time of the kernel", f"TLPs are placed in it by ± {error / 1000:,.1f} µs at worst: other clocks have an effect before its cause"
    yield "placement error in ns", str(error)
    yield "shortest tick in ns", f"{low:.9g}"
    yield "longest tick in ns", f"{high:.9g}"
