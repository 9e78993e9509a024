"""What a recording of CoreSight trace holds, for ``ptttool info``: not TLPs, but what perf knew of the trace units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptttool.cli.terminal.talk import PrintedError, console, print_json, print_labelled
from ptttool.documents import to_json
from ptttool.perfdata.problems import error_of
from ptttool.recording.auxtrace import CS_ETM
from ptttool.wording import counted

if TYPE_CHECKING:
    from ptttool.perfdata.model import Contents
    from ptttool.recording.cs_etm import CsEtm


def show_coresight(path: str, contents: Contents, *, json: bool) -> bool:
    """Show it on standard output; False where the recording is of something else. Raises InputError at the end of a damaged one."""
    from ptttool.recording.cs_etm import parse_cs_etm

    if contents.auxtrace_type != CS_ETM:
        return False
    whole = _whole(path, contents)
    metadata = parse_cs_etm(whole.auxtrace_priv, whole.hardware_ids)
    failure = None
    if whole.problems:
        failure = error_of(whole.problems[0], path)
    if json:
        document = _document(path, whole, metadata)
        if failure is not None:
            document["error"] = failure.as_json()
        print_json(document)
    else:
        _print(path, whole, metadata)
    if failure is not None:
        raise PrintedError(failure) if json else failure
    return True


def _whole(path: str, contents: Contents) -> Contents:
    """The contents of the whole recording; of standard input, which is read once, what has come so far."""
    if path == "-":
        return contents
    from ptttool.recording.opening import open_perfdata

    with open_perfdata(path) as reader:
        for _ in reader.chunks():
            pass
        return reader.contents


def _document(path: str, contents: Contents, metadata: CsEtm) -> dict[str, Any]:
    from ptttool.cli.views.recording import streams

    return {
        "path": path,
        "mode": contents.mode,
        "auxtrace": "CoreSight ETM",
        "event": next((attribute.name for attribute in contents.attributes if attribute.type == metadata.pmu_type), None),
        "metadata": metadata.as_json(),
        "streams": [
            {"cpu": cpu, "payloads": payloads, "bytes": size, "aux_events": events} for cpu, payloads, size, events in streams(contents)
        ],
        "container_records": dict(contents.records),
        "problems": [to_json(problem) for problem in contents.problems],
    }


def _print(path: str, contents: Contents, metadata: CsEtm) -> None:
    from rich.table import Table

    from ptttool.cli.views.recording import streams
    from ptttool.recording.cs_etm import FORMAT_MASK, FORMAT_RAW

    framed = all(event.flags & FORMAT_MASK != FORMAT_RAW for event in contents.aux_events if event.size)
    print_labelled("holds", "CoreSight trace, no TLPs" + ("" if framed else ", of each CPU by itself, without frames (TRBE)"))
    print_labelled("decode", f"ptttool packets --protocol opencsd {'' if framed else '-p framing=none '}{path}")
    if framed:
        print_labelled("", f"ptttool packets {path} takes its frames apart, no more")
    kind = "snapshot" if metadata.snapshot else "full trace"
    print_labelled("metadata", f"version {metadata.version}, PMU type {metadata.pmu_type}, {counted(metadata.cpus, 'CPU')}, {kind}")
    for cpu, payloads, size, events in streams(contents):
        name = "AUX stream" if cpu is None else f"CPU {cpu}"
        print_labelled("stream", f"{name}: {size:,} bytes in {counted(payloads, 'payload')}, {counted(events, 'AUX event')}")
    if metadata.damage is not None:
        print_labelled("warning", f"the metadata are not whole: {metadata.damage}")
    if not metadata.units:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("CPU", "Trace unit", "Trace ID", "Registers"):
        table.add_column(title, no_wrap=title != "Registers")
    for unit in metadata.units:
        registers = " ".join(f"{name}={value:#x}" for name, value in unit.registers.items())
        trace_id = "" if unit.trace_id is None else f"{unit.trace_id:#04x}"
        table.add_row(str(unit.cpu), unit.kind, trace_id, registers)
    out = console()
    out.print()
    out.print(table)
