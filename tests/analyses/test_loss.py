"""Signs of loss: the right words for what is lost, none for what is whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from ptttool.analyses.budget import MAX_STREAM_SIGNS
from ptttool.analyses.loss import causes_of, signs_of_loss
from ptttool.analyses.loss.counted import CODE, CountedTlps
from ptttool.api.machine import find_machine
from ptttool.capture.perf.counters import Counted, LinkCounters
from ptttool.diagnostics import Diagnostic, Severity
from ptttool.documents import to_json
from ptttool.perfdata.model import Attribute, AuxEvent, AuxPayload, Contents, Mode
from ptttool.perfdata.readers.opening import open_perfdata
from ptttool.pipeline.analyzing.ask import Ask, run
from ptttool.pipeline.query import parse_query
from ptttool.pipeline.recording import OpenRecording, Request
from ptttool.recording.identity import ptt_attribute
from tests.support import captures
from tests.support import recordings as rec

MIB = 1 << 20
SECOND = 1_000_000_000
SEEN = {
    "6.12/s-4dw-ports-dir0": ["end-stream"],
    "6.12/s-8dw-ports-dir3": ["end-stream"],
    "6.12/x-cpu2-wrong-node": ["empty-trace"],
    "6.12/x-idle": ["empty-trace"],
    "6.12/x-sigkill": ["empty-trace", "interrupted"],
    "6.1/x-control": ["spoilt-restarts"],
}


def of_file(path: Path) -> list[Diagnostic]:
    with open_perfdata(path) as reader:
        for _ in reader.chunks():
            pass
        return signs_of_loss(reader.contents)


def contents(
    *events: tuple[int, int, int, float],
    end: float | None = 10.0,
    release: str | None = "6.12.95",
    held: int | None = None,
    flags: int = 0,
    config: int = rec.DEFAULT_CONFIG,
    **more: object,
) -> Contents:
    """Contents with AUX events of (cpu, offset, size, seconds)."""
    made = Contents(Mode.FILE, auxtrace_type=6, auxtrace_priv=(11,), **more)  # type: ignore[arg-type]
    made.aux_events = [AuxEvent(offset, size, flags, cpu, int(time * SECOND), 0) for cpu, offset, size, time in events]
    total = sum(size for _, _, size, _ in events) if held is None else held
    if total:
        made.aux_payloads = [AuxPayload(0, 0, total, total, 0, 0, 0)]
    if release is not None:
        made.features["osrelease"] = release
    made.last_time = None if end is None else int(end * SECOND)
    return made


def codes(found: list[Diagnostic]) -> list[str]:
    return [finding.code for finding in found]


@pytest.mark.parametrize("name", captures.shapes())
def test_recordings(name: str, tmp_path: Path) -> None:
    """What is whole gives no warning; what is not is told."""
    found = of_file(captures.path_of(name, tmp_path))
    assert codes(found) == SEEN.get(name, [])
    assert all(finding.severity is Severity.INFO for finding in found if finding.code == "end-stream")
    assert all(finding.severity is Severity.ERROR for finding in found if finding.code == "empty-trace")
    assert all(finding.message and "  " not in finding.text for finding in found)


def test_one_stream_of_a_cpu_that_went_offline(tmp_path: Path) -> None:
    """perf was asked for nothing that stops a trace, so the CPU is the only cause that is left."""
    path = captures.path_of("faults/cpu-went-offline", tmp_path)
    (found,) = of_file(path)
    assert (found.code, found.severity, len(causes_of(found))) == ("restarts", Severity.WARNING, 1)
    assert "CPU 1 went offline" in causes_of(found)[0]
    with open_perfdata(path) as reader:
        assert [*reader.chunks()]
        known = signs_of_loss(reader.contents, went_offline=(0, 1))
        assert (codes(known), causes_of(known[0])) == (["restarts"], causes_of(found))
        reader.contents.features["cmdline"] = ["perf", "record", "--control=fifo:a,b", "-e", "hisi_ptt0_2//", "-C", "1"]
        asked = signs_of_loss(reader.contents)[0]
        assert (asked.severity, len(causes_of(asked))) == (Severity.INFO, 2)
        reader.contents.features.pop("cmdline")
        assert len(causes_of(signs_of_loss(reader.contents)[0])) == 2


def test_a_cpu_of_the_wrong_node_is_named(tmp_path: Path) -> None:
    (found,) = of_file(captures.path_of("6.12/x-cpu2-wrong-node", tmp_path))
    assert any("CPU 2" in cause and "cpumask" in cause for cause in causes_of(found))
    assert any("another program" in cause for cause in causes_of(found))


def test_completions_that_a_requester_did_not_ask_for() -> None:
    """``--requester X --completions a``: the processor requested CPL A."""

    def causes(config: int) -> list[str]:
        made = contents(config=config)
        made.attributes.append(replace(attribute(), type=11, config=config))
        (found,) = signs_of_loss(made)
        return [cause for cause in causes_of(found) if "CPL A" in cause]

    assert len(causes(0x1_0730_0600)) == 1  # filter=0x00600, type=7, direction=3, format=1
    assert causes(0x1_0738_0001) == causes(0x0730_0600) == causes(0x1_0720_0600) == []


def attribute() -> Attribute:
    with open_perfdata(captures.FOLDER / "6.12" / "x-idle.data") as reader:
        found = ptt_attribute(reader.contents)
        assert found is not None
        return found


def test_all_cpus_are_no_wrong_cpu(tmp_path: Path) -> None:
    (found,) = of_file(captures.path_of("6.12/x-idle", tmp_path))
    assert not any("cpumask" in cause for cause in causes_of(found))
    assert any("nothing to log" in cause for cause in causes_of(found))


@pytest.mark.parametrize(
    ("command", "cpu"),
    [
        ([], None),
        (["--"], None),
        (["--", "perf", "-C", "1"], None),
        (["perf", "-C"], None),
        (["-C"], None),
        (["-C1"], "1"),
        (["-C", "1"], "1"),
    ],
)
def test_odd_command_lines(tmp_path: Path, command: list[str], cpu: str | None) -> None:
    """Whoever made the file wrote what it says of the command."""
    with open_perfdata(captures.path_of("6.12/x-idle", tmp_path)) as reader:
        assert not [*reader.chunks()]
        reader.contents.features["cmdline"] = command
        (found,) = signs_of_loss(reader.contents)
    assert any("recorded on CPU 1:" in cause for cause in causes_of(found)) is (cpu is not None)


def test_overflow_with_another_cpu() -> None:
    """The AUX events of a real recording: perf stopped for five seconds, AUX area of 16 MiB, perf record -a."""
    ago = [5.901, 5.850, 5.801, 5.728]
    first = [(0, number * 4 * MIB, 4 * MIB, 10 - time) for number, time in enumerate(ago)]
    ago = [5.631, 5.511, 5.417, 1.136]
    second = [(1, number * 4 * MIB, 4 * MIB, 10 - time) for number, time in enumerate(ago)]
    (found,) = signs_of_loss(contents(*first, *second, (1, 16 * MIB, 1909632, 10.0)))
    assert found.code == "hole"
    assert found.severity is Severity.WARNING
    assert found.details == {"cpu": 0, "next_cpu": 1, "last_event_bytes": 4 * MIB, "gap_ns": 97_000_000}
    assert "--aux-size" in str(found.hint)


@pytest.mark.parametrize("sizes", [[4 * MIB], [4 * MIB] * 4, [16 * MIB]], ids=["one buffer", "6.12", "6.1"])
def test_overflow(sizes: list[int]) -> None:
    """The last event has whole buffers only. 6.1 commits the whole area at once."""
    offsets = [sum(sizes[:number]) for number in range(len(sizes))]
    events = [(0, offset, size, 6.0 + number / 10) for number, (offset, size) in enumerate(zip(offsets, sizes, strict=True))]
    (found,) = signs_of_loss(contents(*events))
    assert found.code == "silent-end"
    last = int(events[-1][3] * SECOND)
    assert found.details == {"cpu": 0, "last_event_bytes": sizes[-1], "before_end_ns": 10 * SECOND - last}
    (known,) = signs_of_loss(contents(*events), session_end=20 * SECOND)
    assert known.details["before_end_ns"] == 20 * SECOND - last
    (unknown,) = signs_of_loss(contents(*events, end=None))
    assert unknown.details["before_end_ns"] is None


@pytest.mark.parametrize(
    ("words", "sizes", "release", "code", "early"),
    [
        (["-m", ",16M"], [16 * MIB], "6.1.0-56-arm64", "aux-full", False),
        (["-m,16384K"], [16 * MIB], "5.10.0-216.0.0.115.oe2203sp4.aarch64", "aux-full", False),
        (["--mmap-pages=,16M"], [4 * MIB] * 4, "6.12.95", "aux-full", True),
        (["--mmap-pages", "128,16m"], [4 * MIB] * 4, None, "aux-full", None),
        # Without -m perf takes 16 MiB.
        ([], [16 * MIB], "6.1", "aux-full", False),
        ([], [8 * MIB], "6.1", "silent-end", None),
        (["-m", ",64M"], [16 * MIB], "6.1", "silent-end", None),
        (["-m", ",4096"], [16 * MIB], "6.1", "silent-end", None),
        (["-m", ",999999999999999999G"], [16 * MIB], "6.1", "silent-end", None),
    ],
)
def test_the_aux_area_was_full(words: list[str], sizes: list[int], release: str | None, code: str, early: bool | None) -> None:
    """The stream is as large as the area that perf was asked for: the trace ended there."""
    offsets = [sum(sizes[:number]) for number in range(len(sizes))]
    events = [(0, offset, size, 6.0 + number / 10) for number, (offset, size) in enumerate(zip(offsets, sizes, strict=True))]
    command = ["perf", "record", "-C", "0", *words, "-o", "x", "--", "dd", "-m", ",1G"]
    (found,) = signs_of_loss(contents(*events, release=release, features={"cmdline": command}))
    assert (found.code, found.severity, found.details.get("commits_early")) == (code, Severity.WARNING, early)
    assert found.details.get("aux_size") == (sum(sizes) if code == "aux-full" else None)


def test_signs_of_many_streams() -> None:
    """A sign for each of some thousand CPUs is not listed, and a message names a few leftovers only."""
    found = signs_of_loss(contents(*((cpu, 0, 4 * MIB, cpu / 1000) for cpu in range(3000))))
    assert codes(found).count("hole") == MAX_STREAM_SIGNS
    assert "over-budget" in codes(found)
    (leftovers,) = signs_of_loss(contents(*((cpu, 0, 544, 10.0) for cpu in range(3000))))
    assert leftovers.code == "end-stream"
    assert len(leftovers.message) < 1000


@pytest.mark.parametrize("words", [[], ["--", "sleep", "1"], ["perf", "record", "-C"]])
def test_a_command_line_without_arguments(words: list[str]) -> None:
    (found,) = signs_of_loss(contents(features={"cmdline": words}))
    assert found.code == "empty-trace"
    assert causes_of(found)


def test_overflow_and_the_one_after_it_too() -> None:
    found = signs_of_loss(contents((0, 0, 4 * MIB, 1.0), (1, 0, 4 * MIB, 2.0)))
    assert codes(found) == ["hole", "silent-end"]


def test_more_than_the_aux_area_is_no_loss() -> None:
    """Full buffers, then the rest at the end."""
    events = [(0, number * 4 * MIB, 4 * MIB, 1.0 + number) for number in range(5)]
    assert signs_of_loss(contents(*events, (0, 20 * MIB, 372640, 9.9))) == []


def test_end_stream() -> None:
    found = signs_of_loss(contents((0, 0, 4031296, 9.993), (1, 0, 544, 10.0)))
    assert codes(found) == ["end-stream"]
    assert found[0].severity is Severity.INFO
    assert found[0].details == {"cpu": 0, "leftovers": [{"cpu": 1, "bytes": 544}]}


def test_a_cpu_that_went_offline() -> None:
    found = signs_of_loss(contents((0, 0, 4000, 3.0), (1, 0, 4 * MIB, 6.0), (1, 4 * MIB, 160, 10.0)))
    assert codes(found) == ["takeover"]
    assert found[0].details == {"cpu": 0, "next_cpu": 1, "before_end_ns": 7 * SECOND}


def test_restarts() -> None:
    events = ((0, 0, 34816, 1.0), (0, 34816, 34816, 2.0), (0, 69632, 104448, 3.0))
    assert codes(signs_of_loss(contents(*events))) == ["restarts"]
    (old,) = signs_of_loss(contents(*events, release="6.1.0-56-arm64"))
    assert old.code == "spoilt-restarts"
    assert (old.details["restarts"], old.details["kernel"]) == (2, "6.1.0-56-arm64")
    (unknown,) = signs_of_loss(contents(*events, release=None))
    assert unknown.code == "spoilt-restarts"
    assert (unknown.details["restarts"], unknown.details["kernel"]) == (2, None)


@pytest.mark.parametrize(("flags", "name"), [(1, "truncated"), (2, "overwrite"), (4, "partial"), (8, "collision")])
def test_flags(flags: int, name: str) -> None:
    (found,) = signs_of_loss(contents((0, 0, 320, 10.0), flags=flags))
    assert found.code == "aux-flags"
    assert found.details == {"flag": name, "events": 1}


def test_flags_of_others() -> None:
    (found,) = signs_of_loss(contents((0, 0, 320, 10.0), flags=0x100))
    assert (found.severity, found.details) == (Severity.INFO, {"flags": [0x100]})


def test_gaps_and_overlaps() -> None:
    (gap,) = signs_of_loss(contents((0, 0, 4 * MIB, 1.0), (0, 8 * MIB, 320, 10.0)))
    assert gap.code == "aux-gap"
    assert gap.details == {"cpu": 0, "missing": 4 * MIB}
    (overlap,) = signs_of_loss(contents((0, 0, 4 * MIB, 1.0), (0, 4 * MIB - 64, 320, 10.0)))
    assert overlap.code == "aux-overlap"
    assert overlap.details == {"cpu": 0, "repeated": 64}


def test_announced_and_held() -> None:
    (missing,) = signs_of_loss(contents((0, 0, 320, 10.0), held=160))
    assert (missing.code, missing.details) == ("aux-missing", {"announced": 320, "held": 160})
    (unannounced,) = signs_of_loss(contents((0, 0, 320, 10.0), held=640))
    assert unannounced.code == "aux-unannounced"
    (nothing,) = signs_of_loss(contents((0, 0, 320, 10.0), held=0))
    assert (nothing.code, nothing.severity) == ("empty-trace", Severity.ERROR)


def test_lost_records() -> None:
    assert codes(signs_of_loss(contents((0, 0, 320, 10.0), records={"LOST": 2}))) == ["lost-records"]


def test_interrupted_after_the_first_write() -> None:
    """A full last buffer is how every killed recording ends: no sign of an overflow."""
    found = signs_of_loss(contents((0, 0, 4 * MIB, 3.0), (0, 4 * MIB, 4 * MIB, 4.0), interrupted=True))
    assert codes(found) == ["interrupted"]


def test_a_cut_file_says_nothing_of_its_end() -> None:
    cut = contents((0, 0, 4 * MIB, 3.0), problems=[Diagnostic(Severity.ERROR, "truncated", "cut")])
    assert signs_of_loss(cut) == []
    nothing = contents(problems=[Diagnostic(Severity.ERROR, "truncated", "cut")])
    assert signs_of_loss(nothing) == []
    harmless = contents(problems=[Diagnostic(Severity.ERROR, "damaged-feature", "a feature")])
    assert codes(signs_of_loss(harmless)) == ["empty-trace"]


def test_other_recordings_have_no_signs() -> None:
    other = contents()
    other.auxtrace_type = 4
    assert signs_of_loss(other) == []
    assert signs_of_loss(Contents(Mode.RAW)) == []
    assert signs_of_loss(Contents(Mode.FILE)) == []


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (0x1_0708_0001, "direction 0 in 8DW: that direction is reserved"),
        (0x1_0138_0001, "direction 3 in 8DW: that direction holds none of them"),
        (0x1_0428_0001, "direction 3 has the others"),
        (0x0_0708_0000, "the event's filter names no root port"),
    ],
)
def test_events_that_trace_nothing(config: int, words: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(config=config))
    (found,) = of_file(path)
    assert found.code == "empty-trace"
    assert any(words in cause for cause in causes_of(found))
    assert any("CPU 0:" in cause for cause in causes_of(found))


def test_as_json() -> None:
    (found,) = signs_of_loss(contents())
    shown = to_json(found)
    assert shown.keys() == {"severity", "code", "message", "hint", "where", "details"}
    assert (shown["code"], shown["severity"]) == ("empty-trace", "error")
    assert shown["details"]["causes"] == list(causes_of(found)) != []


def test_end_to_end(tmp_path: Path) -> None:
    """Built, read, judged: a stream that ends with a full buffer two seconds early."""
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata([(0, 0, bytes(4 * MIB))], end_time=rec.START_TIME + 1_000_000 + 2 * SECOND))
    (found,) = of_file(path)
    assert found.code == "silent-end"
    assert found.details["before_end_ns"] == 2 * SECOND


def test_counted_where_directions_cannot_be_told_apart(tmp_path: Path) -> None:
    """TLPs that may be inbound are no loss; an empty result, or rows that were left out, are none either."""
    path = captures.path_of("workloads/w-randread-4dw", tmp_path)
    machine = find_machine(demo=True)

    def rows(value: int, *, known: bool, where: str | None = None) -> tuple[list[CountedTlps], list[str]]:
        counters = LinkCounters("hisi_pcie0_core0", 1.0, (Counted("rx_mrd_cnt", value), Counted("rx_mwr_cnt", None)))
        with OpenRecording(Request(str(path))) as recording:
            if known:
                recording.topology = recording.part_of(machine)
            query = None if where is None else parse_query(recording.schema, columns=(), where=where)
            result = run(recording, Ask(counters=counters, query=query), ["loss"]).results["loss"]
        return result.counted, [sign.code for sign in result.signs if sign.code == CODE]

    ((inbound,), _), ((either,), _) = rows(0, known=True), rows(0, known=False)
    assert 0 < inbound.recorded <= either.recorded
    assert rows(inbound.recorded, known=True)[1] == rows(either.recorded, known=False)[1] == []
    (row,), codes = rows(either.recorded + 1, known=False)
    assert (row.missing, codes) == (1, [CODE])
    assert rows(either.recorded + 1, known=False, where="kind = 'MWr'") == ([], [])
