"""Advice follows from numbers: each names one, and a command that exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.analyses.addresses.document import AddressMap, AlignmentSums, Crossings
from ptttool.analyses.bandwidth.document import MORE_THAN_THE_LINK, Bandwidth, Saturation
from ptttool.analyses.errors.document import ErrorKind, Errors, RequesterErrors
from ptttool.analyses.io.results import IoResult
from ptttool.analyses.latency.document import Latency, Spread, Unmatched
from ptttool.analyses.latency.waited import AfterGap, Waits
from ptttool.analyses.loss.analysis import LossSigns
from ptttool.analyses.mmio.document import Mmio, PollingRun
from ptttool.analyses.needs import Lack, LackCode
from ptttool.analyses.outstanding.document import Outstanding, TagUse
from ptttool.analyses.payload.document import Limit, Operation, Payload, PayloadGroup
from ptttool.capture.event.decode import EventFilter, Named
from ptttool.capture.event.explain import explain
from ptttool.cli.app import app
from ptttool.cli.main import load_commands
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.machine.model import REQUESTER
from ptttool.pci import PciAddress
from ptttool.pipeline.analyzing.ask import Ask
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.pipeline.scope import TimeOptions
from ptttool.pipeline.workers.pool import workers_for
from ptttool.report.advice.every import advice_on
from ptttool.report.advice.io import on_io
from ptttool.report.gather import report_of, runnable
from ptttool.report.glance import glances_of
from ptttool.report.model import Advice, ReportedRecording
from tests import ROOT
from tests.support import captures

WORKLOADS = sorted(path.name.removesuffix(".data.xz") for path in (captures.FOLDER / "workloads").glob("*.xz"))


@contextmanager
def reported(name: str, folder: Path, time: TimeOptions | None = None) -> Iterator[ReportedRecording]:
    path = str(captures.path_of(name, folder))
    with OpenRecording(Request(path)) as recording, workers_for((path,), 1) as workers:
        yield report_of(recording, Ask(workers, time=time or TimeOptions()))


def codes(found: list[Advice]) -> list[str]:
    return [each.code for each in found]


def check(found: Advice) -> None:
    """It names a number or a word of its evidence, and its command is one that there is, with options that there are."""
    assert found.evidence
    assert found.command is not None
    words = shlex.split(str(found.command_for("a b/x.data")))
    assert "FILE" not in words
    load_commands()
    group = app.tree
    command = group.commands[words[1]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known, words


@pytest.mark.parametrize("name", WORKLOADS)
def test_of_real_recordings(name: str, tmp_path: Path) -> None:
    with reported(f"workloads/{name}", tmp_path) as found:
        assert found.advice
        for each in found.advice:
            assert each.analysis in found.results
            if each.code == "record-more":  # without a machine, the recording does not say which port it is of
                each = replace(each, command=each.command or "ptttool trace --rootport 00:10.0")
            check(each)
        severities = [each.severity.rank for each in found.advice]
        assert severities == sorted(severities)


def test_the_documentation_names_all_of_it() -> None:
    text = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    named = {code for row in text.splitlines() if row.startswith("| `") for code in re.findall(r"`([a-z0-9-]+)`", row.split("|")[1])}
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "ptttool" / "report" / "advice").glob("*.py")]
    given = {code for source in sources for code in re.findall(r'Advice\(\s*[\w. ]+,\s*"([a-z0-9-]+)"', source)}
    given |= {code for source in sources for code in re.findall(r'Severity\.WARNING if \w+ else Severity\.INFO,\s*"([a-z0-9-]+)"', source)}
    assert len(given) > 10
    assert given <= named


def test_commands_trace_what_the_recording_is_of() -> None:
    again = Advice(Severity.INFO, "record-more", "errors", "x", "ptttool trace --format 8dw")
    other = Advice(Severity.INFO, "loss", "loss", "x", "ptttool analyze loss FILE")
    bare = explain(0x7000700, pmu="hisi_ptt0_2")
    traced = replace(bare, filtered=EventFilter(REQUESTER, 0x700, functions=(Named(PciAddress.parse("0000:07:00.0"), "ens1"),)))
    assert runnable(again, traced).command == "ptttool trace --requester 0000:07:00.0 --format 8dw"
    assert runnable(again, None).command is None
    assert runnable(other, None) == other


def test_time_is_asked_for_until_it_is_known(tmp_path: Path) -> None:
    with reported("workloads/w-randread-4dw", tmp_path) as found:
        assert "tick-unknown" in codes(list(found.advice))
    with reported("workloads/w-randread-4dw", tmp_path, TimeOptions(tick_ns=4)) as found:
        assert "tick-unknown" not in codes(list(found.advice))


def test_loss() -> None:
    signs = [Diagnostic(Severity.WARNING, "silent-end", "x"), Diagnostic(Severity.INFO, "end-stream", "y")]
    [found] = advice_on({"loss": LossSigns(signs)}, {})
    assert (found.code, found.severity, found.evidence) == ("loss", Severity.WARNING, {"signs": "silent-end"})
    check(found)
    assert advice_on({"loss": LossSigns(signs[1:])}, {}) == []


def test_other_tlps_are_not_called_missing() -> None:
    other = Diagnostic(Severity.ERROR, "not-as-asked", "x")
    [found] = advice_on({"loss": LossSigns([other])}, {})
    assert found.evidence == {"signs": "not-as-asked"} and "lower bound" not in found.message
    [found] = advice_on({"loss": LossSigns([Diagnostic(Severity.WARNING, "restarts", "x")])}, {})
    assert "--cpu" in found.message and "--aux-size" not in str(found.command)


def test_tiles_of_time(tmp_path: Path) -> None:
    """What is a lower bound is called so; a tick that makes more bytes than the link carries gives no rate."""
    with reported("workloads/w-randread-4dw", tmp_path, TimeOptions(tick_ns=4)) as found:
        result = found.results["bandwidth"]
    assert isinstance(result, Bandwidth)

    def tiles(result: Bandwidth, seconds: float | None = None) -> dict[str, str]:
        return {each.label: each.value for each in glances_of({"bandwidth": result}, seconds)}

    least = [replace(flow, direction="inbound", tlps=9, share=0.5, wire_per_second=1e9) for flow in result.directions[:1]]
    found_tiles = tiles(replace(result, directions=least), 7.98)
    assert found_tiles == {"Traced time": "7.98 s", "Time of the device": "at least 195 ms", "Share of the link, inbound": "at most 50.0 %"}
    exact = replace(result, directions=least, time=replace(result.time, bits=32, breaks=0))
    assert tiles(exact) == {"Time of the device": "195 ms", "Share of the link, inbound": "50.0 %"}
    wrong = [replace(least[0], share=None)]
    notes = [Diagnostic(Severity.WARNING, MORE_THAN_THE_LINK, "")]
    assert tiles(replace(exact, directions=wrong, notes=notes)) == {"Time of the device": "48.8 million ticks"}


def test_what_is_not_seen_is_to_be_recorded() -> None:
    inbound = Lack(LackCode.NOT_TRACED, "completions", "inbound only", "--direction both --type np,cpl")
    wide = Lack(LackCode.FORMAT, "attributes", "the records are 4DW", "--format 8dw")
    found = advice_on({}, {"latency": [inbound], "outstanding": [inbound], "errors": [wide], "traffic": []})
    assert codes(found) == ["record-more"] * 2
    assert [each.evidence["analyses"] for each in found] == ["latency, outstanding", "errors"]
    for each in found:
        check(each)


def test_addresses(tmp_path: Path) -> None:
    with reported("workloads/w-randread-4dw", tmp_path) as found:
        result = found.results["addresses"]
    assert isinstance(result, AddressMap)
    good = AlignmentSums("inbound", "read", 5000, 5000, 5000, 5000, 5000)
    bad = replace(good, whole_lines=100)
    few = replace(bad, requests=10, whole_lines=0)
    assert codes(advice_on({"addresses": replace(result, alignment=[good, few])}, {})) == []
    assert codes(advice_on({"addresses": replace(result, alignment=[good, bad])}, {})) == ["partial-lines"]
    [crossing] = advice_on({"addresses": replace(result, alignment=[], crossings=Crossings(3, [17, 18, 19]))}, {})
    assert (crossing.code, crossing.severity, crossing.evidence["first_index"]) == ("crosses-4k", Severity.ERROR, 17)
    check(crossing)


def test_bandwidth(tmp_path: Path) -> None:
    with reported("workloads/w-randread-4dw", tmp_path) as found:
        result = found.results["bandwidth"]
    assert isinstance(result, Bandwidth)
    calm = replace(result, bursts={name: replace(burst, times_mean=2.0) for name, burst in result.bursts.items()})
    assert "burst" not in codes(advice_on({"bandwidth": calm}, {}))
    burst = {name: replace(burst, times_mean=40.0) for name, burst in result.bursts.items()}
    assert codes(advice_on({"bandwidth": replace(calm, bursts=burst)}, {})).count("burst") == len(burst)
    # The mean says nothing: a link may be full for a part of the time, or carry much all the time and have room.
    busy = [replace(flow, share=0.85) for flow in result.directions]
    full = Saturation(6.5e9, 2000, 0.25, 20.0, 500, 77)

    def full_links(full: Saturation | None) -> list[Advice]:
        saturation = None if full is None else {"inbound": full}
        return [each for each in advice_on({"bandwidth": replace(calm, directions=busy, saturation=saturation)}, {}) if "full" in each.code]

    [found_advice] = full_links(full)
    assert (found_advice.code, found_advice.severity) == ("link-full", Severity.WARNING)
    assert found_advice.evidence == {"direction": "inbound", "full_percent": 25.0, "index": 77}
    check(found_advice)
    assert full_links(replace(full, share=0.05)) == full_links(None) == []


def test_latency(tmp_path: Path) -> None:
    with reported("workloads/w-randread-4dw", tmp_path) as found:
        result = found.results["latency"]
    assert isinstance(result, Latency)
    spread = Spread(5000, 1.0, 60.0, 50.0, 100.0, 120.0, 140.0, 900.0, 3, 77)
    group = replace(result.directions[0], ticks=spread)
    calm = replace(result, unmatched=Unmatched(5, 0, 9, 3), short=0, directions=[group])
    assert codes(advice_on({"latency": calm}, {})) == ["tick-unknown"]
    slow = replace(calm, directions=[replace(group, ticks=replace(spread, p99=700.0))])
    tail = advice_on({"latency": slow}, {})[0]
    assert (tail.code, tail.evidence["slowest_index"], tail.evidence["p99_by_p50"]) == ("long-tail", 77, 14.0)
    few = replace(calm, directions=[replace(group, ticks=replace(spread, p99=700.0, n=20))])
    assert "long-tail" not in codes(advice_on({"latency": few}, {}))
    lost = advice_on({"latency": replace(calm, unmatched=Unmatched(5, 4, 9, 3), short=2)}, {})
    assert codes(lost)[:2] == ["unanswered", "short"]
    assert lost[0].evidence["unanswered"] == 4
    for each in (tail, *lost):
        check(each)


def test_waits(tmp_path: Path) -> None:
    """The reads of a real recording wait behind their own completions; others are made of it."""
    with reported("6.12/m-4dw-port10-type7-dir2", tmp_path) as found:
        result = found.results["latency"]
    assert isinstance(result, Latency)
    waits = result.waits
    assert waits.slowest is not None and waits.mean is not None
    [behind] = [each for each in found.advice if each.code.startswith("waits")]
    assert behind.code == "waits-behind"
    assert behind.evidence["behind_percent"] == round(100 * (waits.slowest.behind or 0) / waits.slowest.mean, 1) > 50
    check(behind)
    slow = waits.slowest.mean

    def advised(waits: Waits) -> list[Advice]:
        return [each for each in advice_on({"latency": replace(result, waits=waits)}, {}) if each.code.startswith("waits")]

    idle = replace(waits, slowest=replace(waits.slowest, behind=0.1 * slow, idle=0.8 * slow), mean=slow / 3)
    [memory] = advised(idle)
    assert (memory.code, memory.evidence["idle_percent"]) == ("waits-idle", 80.0)
    check(memory)
    assert advised(replace(idle, mean=0.9 * slow)) == [], "all take as long"
    assert advised(replace(waits, slowest=replace(waits.slowest, behind=0.4 * slow, idle=0.4 * slow), mean=slow / 3)) == []
    assert advised(replace(waits, explained=0.3)) == advised(replace(waits, reads=99)) == []
    assert advised(replace(waits, slowest=replace(waits.slowest, behind=None, own=None, idle=None))) == []


def test_phases_of_commands(tmp_path: Path) -> None:
    with reported("6.12/m-4dw-port10-type7-dir2", tmp_path) as found:
        result = found.results["io"]
    assert isinstance(result, IoResult)
    phases = result.nvme.phases
    assert phases is not None and phases.fetch_to_completion is not None
    [seen] = [each for each in found.advice if each.code == "command-time"]
    assert seen.evidence == {"phase": "fetch_to_completion", "share_percent": 70.5, "mean_ticks": 7774.8, "seen": 57}
    check(seen)

    def advised(**changes: object) -> list[Advice]:
        return list(on_io(replace(result, nvme=replace(result.nvme, phases=replace(phases, **changes)))))

    idle = replace(phases.fetch_to_completion, share=0.9)
    [waits_for_work] = advised(doorbell_to_next=idle)
    assert waits_for_work.evidence["phase"] == "doorbell_to_next"
    check(waits_for_work)
    assert advised(fetch_to_completion=replace(idle, n=19)) == advised(fetch_to_completion=replace(idle, share=0.4)) == []
    assert advised(**dict.fromkeys(phases.__struct_fields__)) == []
    assert list(on_io(replace(result, nvme=replace(result.nvme, phases=None)))) == []


def test_waking_up(tmp_path: Path) -> None:
    with reported("6.12/m-4dw-port10-type7-dir2", tmp_path) as found:
        result = found.results["latency"]
    assert isinstance(result, Latency)

    def advised(*gaps: AfterGap) -> list[Advice]:
        return [each for each in advice_on({"latency": replace(result, by_gap=list(gaps))}, {}) if each.code == "wake-up"]

    fast, slow = (AfterGap(at_least, None, 100, p50, p50, p50, p50) for at_least, p50 in ((16, 100.0), (1024, 200.0)))
    [found_one] = advised(replace(fast, at_least=1, p50=150.0), fast, slow)
    assert found_one.evidence == {"at_least_ticks": 1024, "reads": 100, "p50_ticks": 200.0, "p50_ticks_else": 100.0}
    check(found_one)
    [told] = advised(replace(fast, below=32), replace(slow, below=2048))
    assert told.evidence == found_one.evidence and told.message != found_one.message
    assert advised(fast, replace(slow, p50=199.0)) == advised(fast, replace(slow, n=99)) == advised(replace(fast, n=99), slow) == []
    assert advised(slow) == []


def test_registers(tmp_path: Path) -> None:
    with reported("workloads/w-config-dir3-4dw", tmp_path) as found:
        result = found.results["mmio"]
    assert isinstance(result, Mmio)
    runs = [PollingRun("01:00.0 BAR 0 + 0x1c", None, reads, 100 * reads, 100.0, index) for reads, index in ((20, 5), (400, 9), (3, 77))]
    assert "polling" not in codes(advice_on({"mmio": replace(result, polling=runs[::2])}, {}))
    [polled] = [each for each in advice_on({"mmio": replace(result, polling=runs)}, {}) if each.code == "polling"]
    assert polled.evidence == {"register": "01:00.0 BAR 0 + 0x1c", "reads": 400, "index": 9}
    check(polled)


def test_tags(tmp_path: Path) -> None:
    with reported("workloads/w-randread-4dw", tmp_path) as found:
        result = found.results["outstanding"]
    assert isinstance(result, Outstanding)
    load = result.requesters[0]

    def advised(share: float, is_known: bool, near: float | None) -> list[Severity]:
        tags = TagUse(32, is_known, share, near)
        found = advice_on({"outstanding": replace(result, requesters=[replace(load, peak=30, tags=tags)])}, {})
        for each in found:
            check(each)
        return [each.severity for each in found if each.code == "tags"]

    assert advised(0.5, True, 0.0) == []
    assert advised(0.95, True, 0.5) == [Severity.WARNING]
    assert advised(1.0, True, 0.01) == advised(1.0, True, None) == [Severity.INFO]
    assert advised(0.95, False, 0.5) == [], "a limit that is not known"


def test_sizes(tmp_path: Path) -> None:
    with reported("workloads/w-randread-8dw", tmp_path) as found:
        result = found.results["payload"]
    assert isinstance(result, Payload)
    group = next(group for group in result.groups if group.operation is Operation.WRITE)
    full = replace(group, tlps=5000, efficiency=0.9, at_limit=0.9, limit=Limit("MPS", 128, True, 256), partial=None)

    def advised(group: PayloadGroup) -> list[str]:
        found = advice_on({"payload": replace(result, groups=[group])}, {})
        for each in found:
            check(each)
        return codes(found)

    assert advised(full) == ["limit-too-small"]
    assert advised(replace(full, at_limit=0.1)) == advised(replace(full, tlps=10)) == []
    assert advised(replace(full, limit=Limit("MPS", 256, True, 256))) == []
    assert advised(replace(full, limit=None, efficiency=0.4)) == ["small-writes"]


def test_lines(tmp_path: Path) -> None:
    """Packets of a network controller begin and end anywhere; a drive writes whole lines, but for its completion entries."""
    found = {}
    for name in ("w-download-8dw", "w-randread-8dw"):
        with reported(f"workloads/{name}", tmp_path) as each:
            found[name] = [advice for advice in each.advice if advice.code == "read-modify-write"]
            for advice in found[name]:
                check(advice)
    [download] = found["w-download-8dw"]
    assert download.evidence == {"writes": 6596, "lines": 6596, "bytes": 191355, "share_percent": 25.1}
    assert found["w-randread-8dw"] == []


def test_errors(tmp_path: Path) -> None:
    with reported("workloads/w-config-dir3-4dw", tmp_path) as found:
        result = found.results["errors"]
    assert isinstance(result, Errors)
    seen = (("a", Severity.INFO, 5), ("b", Severity.WARNING, 7), ("c", Severity.ERROR, 1), ("d", Severity.WARNING, 9))
    kinds = [
        ErrorKind(code, "what it means", severity, count, "TLPs", 0.1, 12, [12], [RequesterErrors("01:00.0", count, 12)], 0)
        for code, severity, count in seen
    ]
    found_advice = advice_on({"errors": replace(result, kinds=kinds)}, {})
    assert codes(found_advice) == ["c", "d", "b"]
    for each in found_advice:
        check(each)
    [glance] = glances_of({"errors": replace(result, kinds=kinds)})
    assert (glance.value, glance.severity) == ("17", Severity.ERROR)
    [glance] = glances_of({"errors": replace(result, kinds=kinds[:1])})
    assert (glance.value, glance.severity) == ("0", None)


def test_what_two_analyses_see_is_said_once(tmp_path: Path) -> None:
    with reported("workloads/w-config-dir3-4dw", tmp_path) as found:
        latency, errors = found.results["latency"], found.results["errors"]
    assert isinstance(latency, Latency)
    assert isinstance(errors, Errors)
    kind = ErrorKind("unanswered", "requests without a completion", Severity.ERROR, 4, "requests", 0.1, 12, [12], [], 0)
    results = {"latency": replace(latency, unmatched=Unmatched(0, 4, 0, 0)), "errors": replace(errors, kinds=[kind])}
    assert codes(advice_on(results, {})).count("unanswered") == 1
