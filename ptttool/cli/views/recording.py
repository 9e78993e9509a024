"""What a recording holds, as text for people and as JSON: shared by ``info`` and ``trace``. Strings of files pass through ``clean``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ptttool.analyses.loss import causes_of
from ptttool.cli.options.reading import traced_part
from ptttool.cli.terminal.talk import clean, console, print_labelled
from ptttool.diagnostics import Diagnostic
from ptttool.documents import to_json
from ptttool.machine.model import ROOT_PORT, Machine
from ptttool.machine.topology import functions_by_id, names_behind
from ptttool.pci import format_id
from ptttool.pipeline.workers import ALONE, Workers
from ptttool.wording import counted, in_words

if TYPE_CHECKING:
    from rich.table import Table

    from ptttool.analyses.tally import Tally
    from ptttool.capture.event.decode import Explanation
    from ptttool.perfdata.model import Contents
    from ptttool.pipeline.trace import Trace

# Requesters in the table for people; --json has all.
SHOWN_REQUESTERS = 20


@dataclass(frozen=True)
class Summary:
    """A walked recording, put into words and numbers. ``machine``: for names, None where it is not known.
    ``command``: that recorded it, where a sidecar keeps it: perf's own note has names of the way, not of the result.
    ``started``: when, likewise."""

    trace: Trace
    tally: Tally
    loss: list[Diagnostic]
    machine: Machine | None = None
    command: tuple[str, ...] | None = None
    started: str | None = None

    @property
    def explanation(self) -> Explanation | None:
        """The event in words; None where the recording does not tell it."""
        from ptttool.capture.event.explain import explain
        from ptttool.recording.identity import pmu_names

        attribute = self.trace.attribute
        if attribute is None:
            return None
        pmu = pmu_names(self.trace.contents).get(attribute.type)
        return explain(attribute.config, pmu=pmu, machine=self.machine)

    def as_json(self) -> dict[str, Any]:
        """The stable schema of ``info --json`` and of ``trace --json``'s ``summary``."""
        from ptttool.capture.documents import ExplanationBody

        contents, attribute, explanation = self.trace.contents, self.trace.attribute, self.explanation
        return {
            "path": self.trace.path,
            "mode": contents.mode,
            "host": {
                name: _plain(contents.features.get(key))
                for name, key in (("hostname", "hostname"), ("kernel", "osrelease"), ("arch", "arch"), ("perf", "version"))
            },
            "started": self.started,
            "command": list(self.command) if self.command else _plain(contents.features.get("cmdline")),
            "event": None if attribute is None else attribute.name,
            "config": None if attribute is None else attribute.config,
            "explanation": None if explanation is None else to_json(ExplanationBody.of(explanation)),
            "formats": dict(self.trace.findings.formats),
            "streams": [
                {"cpu": cpu, "payloads": payloads, "bytes": size, "aux_events": events} for cpu, payloads, size, events in streams(contents)
            ],
            "container_records": dict(contents.records),
            "container_unknown": {str(number): count for number, count in contents.unknown.items()},
            **self.tally.as_dict(),
            "findings": {**self.trace.findings.as_dict(), "sentences": self.trace.findings.sentences()},
            "signs_of_loss": [to_json(finding) for finding in self.loss],
            "problems": [to_json(problem) for problem in contents.problems],
        }


def summarise(
    trace: Trace,
    machine: Machine | None,
    *,
    command: tuple[str, ...] | None = None,
    started: str | None = None,
    workers: Workers = ALONE,
) -> Summary:
    """Walk the recording."""
    from ptttool.analyses.loss import signs_of_loss
    from ptttool.cli.terminal.walking import shown_progress

    with shown_progress(trace):
        tally = trace.tally(workers=workers)
    return Summary(trace, tally, signs_of_loss(trace.contents), machine, command, started)


def streams(contents: Contents) -> list[tuple[int | None, int, int, int]]:
    """CPU, payloads, bytes held and AUX events of every AUX stream, by CPU."""
    sums: dict[int | None, list[int]] = {}
    for payload in contents.aux_payloads:
        row = sums.setdefault(None if payload.cpu < 0 else payload.cpu, [0, 0, 0])
        row[0] += 1
        row[1] += payload.held
    for event in contents.aux_events:
        if event.cpu in sums:
            sums[event.cpu][2] += 1
    return [(cpu, *sums[cpu]) for cpu in sorted(sums, key=lambda cpu: -1 if cpu is None else cpu)]  # type: ignore[misc]


def _plain(value: object) -> object:
    """A feature as JSON can hold it."""
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return value if value is None or isinstance(value, (int, str)) else str(value)


def print_summary(summary: Summary, *, counts_alone: bool = False) -> None:
    """The summary on standard output. ``counts_alone``: not what was recorded and how, nor what is not as it should be."""
    out = console()
    if not counts_alone:
        for label, text in _facts(summary):
            print_labelled(label, text)
        out.print()
    tally = summary.tally
    out.print(f"{tally.records:,} TLPs, {tally.payload_bytes:,} bytes of data")
    if tally.records:
        out.print(
            f"Time, raw: first {tally.time_first}, last {tally.time_last}, smallest {tally.time_smallest}, largest {tally.time_largest}"
        )
        out.print()
        out.print(kind_table(tally))
        out.print()
        out.print(requester_table(tally, traced_part(summary.machine, summary.trace), out.width))
    remarks = [] if counts_alone else list(_remarks(summary))
    if remarks:
        out.print()
    for label, text in remarks:
        print_labelled(label, text)


def _remarks(summary: Summary) -> Iterator[tuple[str, str]]:
    """Everything that is not as it should be: a label, and what is to be said."""
    contents = summary.trace.contents
    for finding in summary.loss:
        yield finding.severity, finding.text
        yield from (("", f"possible: {cause}") for cause in causes_of(finding))
    for sentence in summary.trace.findings.sentences():
        yield "note", sentence
    if contents.unknown:
        listed = ", ".join(f"{count} of type {number}" for number, count in sorted(contents.unknown.items()))
        yield "note", f"records of perf.data that are not understood: {listed}"


def _facts(summary: Summary) -> Iterator[tuple[str, str]]:
    contents, features = summary.trace.contents, summary.trace.contents.features
    where = [f"perf {features['version']}"] if features.get("version") else []
    where += [f"on {features['hostname']}"] if features.get("hostname") else []
    system = " ".join(str(features[key]) for key in ("osrelease", "arch") if features.get(key))
    if where or system:
        yield "recorded", " ".join(where) + (f" (Linux {system})" if system else "")
    if summary.started:
        yield "started", summary.started
    command = summary.command or features.get("cmdline")
    if command:
        yield "command", shlex.join(map(str, command)) if isinstance(command, (list, tuple)) else str(command)
    attribute, explanation = summary.trace.attribute, summary.explanation
    if attribute is not None:
        yield "event", f"{attribute.name or 'not named'} (config {attribute.config:#x})"
    if explanation is not None:
        yield "traces", traced_text(explanation, summary.machine)
    formats = summary.trace.findings.formats
    if formats:
        origin = "as told" if summary.trace.is_raw else "from the event's config" if attribute is not None else "told from the data"
        yield "format", f"{' and '.join(formats)} ({origin}; {_agreement(summary)})"
    for cpu, payloads, size, events in streams(contents):
        name = "AUX stream" if cpu is None else f"CPU {cpu}"
        if contents.mode == "raw":
            yield "stream", f"{size:,} bytes"
        else:
            yield "stream", f"{name}: {size:,} bytes in {counted(payloads, 'payload')}, {counted(events, 'AUX event')}"
    if contents.mode not in ("file", "raw"):
        yield "container", {"pipe": "perf.data in pipe mode", "directory": "perf.data directory"}[contents.mode]


def _agreement(summary: Summary) -> str:
    """What the data say of the layout that was told."""
    from ptttool.decoders.hisi_ptt.findings import CHECK_CODE

    findings = summary.trace.findings
    if findings.format_conflicts:
        return "the data contradict it and were followed"
    if findings.unchecked_records or CHECK_CODE in findings.unknown_codes:
        return "not all data agree"
    return "the data do not tell" if findings.undecided_payloads else "the data agree"


def traced_text(explanation: Explanation, machine: Machine | None) -> str:
    """``inbound P and NP of root port 0000:00:10.0 (nvme0)``."""
    ways = [
        f"{way} {in_words(groups)}"
        for way, groups in (("inbound", explanation.flow.inbound), ("outbound", explanation.flow.outbound))
        if groups
    ]
    what = "; ".join(ways) or "nothing"
    noun = "root port" if explanation.kind == ROOT_PORT else "requester"
    names = []
    for named in explanation.named:
        if named.address is None:  # "bit 0: a root port with PCI device number 00, 08, 10 or 18"
            names.append(named.name.replace("a root port with ", ""))
        else:
            behind = named.name if machine is None or explanation.kind != ROOT_PORT else names_behind(machine, named.address)
            names.append(f"{named.address} ({behind})" if behind else str(named.address))
    return what + (f" of {noun}{'s' if len(names) > 1 else ''} {in_words(names)}" if names else "")


def _table(*columns: tuple[str, bool]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, is_number in columns:
        table.add_column(name, justify="right" if is_number else "left", no_wrap=True)
    return table


def kind_table(tally: Tally) -> Table:
    """TLPs by kind, then by class."""
    table = _table(("Kind", False), ("TLPs", True), ("Share", True), ("Bytes of data", True))
    rows = [*tally.by_kind().items(), *((f"all {name}", value) for name, value in tally.by_class().items() if value[0])]
    for name, (records, payload) in rows:
        table.add_row(name, f"{records:,}", f"{100 * records / tally.records:.1f}%", f"{payload:,}")
    return table


def requester_table(tally: Tally, machine: Machine | None, width: int) -> Table:
    """TLPs by requester, most first, with names where the machine is known, cut to what a terminal of ``width`` has room for."""
    titles = ("Requester", "TLPs", "P", "NP", "CPL", "Bytes of data")
    table = _table((titles[0], False), *((title, True) for title in titles[1:]), ("Name", False))
    everyone = list(tally.by_requester_and_class())
    rows = []
    for requester, classes in everyone[:SHOWN_REQUESTERS]:
        records, payload = (sum(value[i] for value in classes.values()) for i in (0, 1))
        counts = [f"{classes[name][0]:,}" for name in ("P", "NP", "CPL")]
        rows.append((format_id(requester), f"{records:,}", *counts, f"{payload:,}", clean(name_of(machine, requester))))
    taken = sum(max(map(len, column)) + 2 for column in zip(titles, *(row[:-1] for row in rows), strict=True))
    room = max(width - taken, 8)
    for *cells, name in rows:
        table.add_row(*cells, name if len(name) <= room else name[: room - 1] + "…")
    if len(everyone) > SHOWN_REQUESTERS:
        table.add_row("…", *[""] * (len(titles) - 1), f"and {len(everyone) - SHOWN_REQUESTERS} more: --json has all")
    return table


def name_of(machine: Machine | None, routing_id: int) -> str:
    """A function's names and PCI name; empty where the machine is not known or has none of that ID."""
    if machine is None:
        return ""
    function = functions_by_id(machine).get(routing_id)
    if function is None:
        return ""
    return "  ".join(part for part in (", ".join(function.kernel_names), function.name) if part)
