"""How commands are shown: where their time goes, by phase, and by queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ptttool.analyses.budget import MAX_LISTED
from ptttool.analyses.io.commands.document import WHOSE, CommandLatency, Phases, Queue
from ptttool.analyses.shown import Column, Names, Note, Part, Table, Unit, text_column
from ptttool.analyses.time.facts import TimeFacts

_TITLES: Final = {
    "doorbell_to_fetch": "tail doorbell → fetch",
    "fetch_to_completion": "fetch → completion entry",
    "fetch_to_data": "  fetch → first data",
    "data": "  first → last data",
    "data_to_completion": "  last data → completion entry",
    "completion_to_interrupt": "completion entry → interrupt",
    "interrupt_to_doorbell": "interrupt → head doorbell",
    "doorbell_to_next": "head doorbell → next tail doorbell",
}


def where_time_goes(phases: Phases, time: TimeFacts) -> Iterator[Note]:
    """Yield one sentence: which phase takes most of the time, by the means."""
    longest = phases.longest
    if longest is None or longest[1].share is None:
        return
    name, times = longest
    share = 100 * (times.share or 0)
    # The mean from fetch to completion entry does not depend on which completion is whose.
    least = "at least " if time.is_at_least or (times.is_least and name != "fetch_to_completion") else ""
    yield Note(
        f"Of the phases that were seen, {_TITLES[name].replace('→', 'to')} takes most of the time: {share:.1f} %, "
        f"{least}{time.scaled(times.mean):,.0f} {time.unit.value} in the mean of {times.n:,}. Meanwhile {WHOSE[name]}."
    )


def of_phases(phases: Phases, latency: CommandLatency | None, time: TimeFacts) -> Iterator[Part]:
    """Yield the phases of commands, and their latency."""
    rows = []
    for name, title in _TITLES.items():
        times = getattr(phases, name)
        if times is not None:
            numbers = (time.scaled(each) for each in (times.mean, times.p50, times.p90, times.p99, times.max))
            share = None if times.share is None else 100 * times.share
            rows.append((title, times.n, share, *numbers, times.max_index, "at least" if times.is_least else None))
    if rows:
        columns = (
            text_column("Phase"), Column("Seen"), Column("Share", Unit.PERCENT),
            *(Column(title, time.unit, weight=weight) for title, weight in (("Mean", 1), ("p50", 0), ("p90", 1), ("p99", 0), ("Max", 2))),
            Column("TLP", Unit.INDEX, weight=2), text_column("Limit", weight=2),
        )  # fmt: skip
        inside = phases.fetch_to_data is not None
        note = "Indented phases are of commands that were alone in their drive." if inside else ""
        yield Table("Phases of commands", columns, rows, note=note)
    if latency is not None:
        names = ("p50", "p90", "p99", "max")
        bounds = {name: [None if one is None else time.scaled(one) for one in getattr(latency, name)] for name in names}
        yield Table(
            "Latency of commands, from fetch to completion entry",
            (text_column("Of both orders"), *(Column(name, time.unit) for name in names)),
            [(how, *(bounds[name][number] for name in names)) for number, how in enumerate(("lower", "upper"))],
            note="Headers do not name commands: each completion was matched with the oldest, and with the newest open one. "
            "Whatever their order, the longest takes no less than the lower one.",
        )


def of_queues(queues: Sequence[Queue], names: Names, time: TimeFacts) -> Table:
    """Return the queues."""
    columns = (
        text_column("Drive"), Column("Queue"), Column("Commands"), Column("Doorbells"), Column("Head doorbells", weight=2),
        Column("Interrupts", weight=1), Column("In flight at most", weight=2), Column("Bytes p50", Unit.BYTES, weight=2),
        Column("p50", time.unit, weight=1), Column("p99", time.unit, weight=1), Column("p99 at most", time.unit, weight=2),
    )  # fmt: skip
    rows = []
    for each in queues[:MAX_LISTED]:
        bounds = () if each.latency is None else (each.latency.p50[0], *each.latency.p99)
        latency = [None if one is None else time.scaled(one) for one in bounds] or [None] * 3
        called = names(each.requester)
        drive = each.requester if called == each.requester else f"{each.requester} {called}"
        size = None if each.sizes is None else each.sizes.p50
        counts = (each.commands, each.doorbells, each.head_doorbells, each.interrupts, each.in_flight)
        rows.append((drive, "?" if each.queue is None else each.queue, *counts, size, *latency))
    return Table("Queues", columns, rows, more=max(len(queues) - MAX_LISTED, 0))
