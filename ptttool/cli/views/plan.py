"""Show a plan: the runs, how much they produce, what they cannot show, and the command."""

from __future__ import annotations

from collections.abc import Iterator

from ptttool.capture.event.terms import Flow
from ptttool.cli.terminal.talk import console, plain_table, print_facts, print_labelled, print_line, print_wrapped
from ptttool.planner.plan import CapturePlan
from ptttool.wording import clean, counted, in_words


def print_plan(plan: CapturePlan) -> None:
    """Print a plan on standard output."""
    print_facts(_facts(plan))
    print_line("")
    _print_volumes(plan)
    for label, text in _notes(plan):
        if label:
            print_labelled(label, text)
        else:  # a command is never wrapped, so that it can be pasted
            print_line(clean(text))
    print_line("")
    print_line(clean(plan.command_line))


def flow_text(flow: Flow) -> str:
    """Name what is traced: ``inbound P and NP, outbound CPL``."""
    both = (("inbound", flow.inbound), ("outbound", flow.outbound))
    return ", ".join(f"{direction} {in_words(groups)}" for direction, groups in both if groups)


def _facts(plan: CapturePlan) -> Iterator[tuple[str, str]]:
    yield "for", ", ".join(plan.purposes)
    of = f"root port{'s' if len(plan.root_ports) > 1 else ''} {in_words(plan.root_ports)}"
    yield "device", f"{plan.device.name}, {of if plan.requester is None else f'requester {plan.requester}'}"
    rate = plan.link.rate
    sizes = f"MPS {plan.link.max_payload} bytes, MRRS {plan.link.max_read_request} bytes"
    sizes += "" if plan.link.are_sizes_known else " (assumed: they could not be read)"
    if rate is None:
        yield "link", f"speed or width is not known, so neither is the amount of trace; {sizes}"
    else:
        yield "link", f"{in_words(rate.links)}: {_rate(rate.bytes_per_second)} in each direction; {sizes}"
    for number, planned in enumerate(plan.runs, 1):
        run = planned.run
        text = f"{flow_text(run.flow)}, {run.format.upper()} ({planned.volume.record_bytes} bytes a TLP), {_seconds(plan.seconds)}"
        if len(plan.purposes) > 1 and planned.purposes:
            text += f", for {in_words(planned.purposes)}"
        yield "run" if len(plan.runs) == 1 else f"run {number}", f"{text}: {planned.chosen.built.event}"
    where = plan.output.absolute().parent
    free = f"free space in {where} is not known" if plan.free is None else f"{_size(plan.free)} are free in {where}"
    yield "AUX area", f"{_size(plan.aux_size)}; {free}"


def _print_volumes(plan: CapturePlan) -> None:
    """Print what the runs produce by load: of several runs the one that produces most."""
    planned = max((one for one in plan.runs if one.volume.loads), key=lambda one: one.volume.loads[0].bytes_per_second, default=None)
    if planned is None or planned.volume.most_tlps_per_second is None:
        return
    loads = planned.volume.loads
    which = "" if len(plan.runs) == 1 else f"Of the run {planned.run.name}, which produces most. "
    has_ends = any(load.ends_after is not None for load in loads)
    out = console()
    heads = ["Link full to", "TLPs/s", "Trace", "A buffer lasts", "AUX area lasts", "Disk lasts", *(["Trace ends after"] * has_ends)]
    table = plain_table(heads, right=heads, overflow="ellipsis")
    for load in loads:
        cells = [f"{100 * load.share:g} %", _count(load.tlps_per_second), _rate(load.bytes_per_second)]
        cells += [_seconds(load.buffer_seconds), _seconds(load.aux_seconds)]
        cells.append("?" if load.disk_seconds is None else _seconds(load.disk_seconds))
        cells += ["never" if load.ends_after is None else _seconds(load.ends_after)] * has_ends
        table.add_row(*cells)
    out.print(table)
    most = _count(planned.volume.most_tlps_per_second)
    print_wrapped(f"{which}A full link has TLPs as large as MPS allows; without data there can be {most} TLPs/s.")
    whole = sum(one.volume.loads[0].bytes_per_second * plan.seconds for one in plan.runs if one.volume.loads)
    if plan.free is not None and whole > plan.free:
        share = plan.free / whole
        print_labelled("disk", f"at full load {counted(len(plan.runs), 'run')} of {_seconds(plan.seconds)} would take {_size(whole)}: "
                       f"there is room for {100 * share:.2g} % of it; take a shorter --duration")  # fmt: skip
    print_line("")


def _notes(plan: CapturePlan) -> Iterator[tuple[str, str]]:
    full = max((one.volume.loads[0] for one in plan.runs if one.volume.loads), key=lambda load: load.bytes_per_second, default=None)
    if full is not None:
        fits = f"a recording of up to {_seconds(full.aux_seconds)} at full load fits into the AUX area"
        longer = (
            f"; a longer one is complete if perf writes {_rate(full.bytes_per_second)} meanwhile, else the trace ends when the area is full"
        )
        yield "window", fits + ("" if full.ends_after == full.aux_seconds else longer)
    for advice in plan.counters:
        there = "" if advice.is_there else f" (this machine has no {advice.pmu} with these events)"
        yield "counter", f"{advice.purpose}: {advice.says}, without loss{there}; only a trace shows {advice.leaves_out}"
        yield "", advice.command_line
    for limit in plan.limits:
        yield "limit", limit.message


def _seconds(value: float) -> str:
    """Format a time: ``2.3 ms``, ``9.1 s``, ``14 min``, ``3.2 h``."""
    for factor, unit, limit in ((1e6, "us", 1e-3), (1e3, "ms", 1.0), (1.0, "s", 120.0), (1 / 60, "min", 7200.0), (1 / 3600, "h", 172800.0)):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value / 86400:,.3g} days" if value < 86400 * 1000 else "years"


def _scaled(value: float, *units: tuple[float, str]) -> str:
    """Format a number in the first unit that it has one of at least, else in the last one."""
    factor, unit = next((each for each in units if value >= each[0]), units[-1])
    return f"{value / factor:.3g} {unit}".rstrip()


def _count(value: float) -> str:
    return _scaled(value, (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def _rate(value: float) -> str:
    return _scaled(value, (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s"))


def _size(value: float) -> str:
    return _scaled(value, (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"))
