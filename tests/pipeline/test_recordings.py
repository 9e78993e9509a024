"""Recordings from the front door to the last column: the real ones against the slow decoder and their own truth, odd ones made by hand."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import asdict

import ptttool
from ptttool.analyses.contract import AnalysisContext
from ptttool.analyses.summary import Summary, Sums
from ptttool.decoders.hisi_ptt import payloads as payloads_module
from ptttool.decoders.hisi_ptt.findings import Findings
from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.splitter import PIPE_RECORDS
from ptttool.decoders.hisi_ptt.units import LoadedTlpUnit
from ptttool.documents import to_json
from ptttool.errors import InputError, UsageError
from ptttool.pci import PciAddress, format_id
from ptttool.perfdata.model import Contents, Mode
from ptttool.pipeline.query import Query
from ptttool.pipeline.work import Select
from ptttool.tlp.bulk import U32
from ptttool.tlp.columns import ALL_COLUMNS, DW_COLUMNS
from tests import ROOT
from tests.reference import hisi_ptt as reference
from tests.support.recordings import (
    attr,
    auxtrace,
    auxtrace_info,
    build_directory,
    build_file,
    build_perfdata,
    build_pipe,
    words_4dw,
    words_8dw,
)
from tests.support.records import Words, eight, four, loaded, packed
from tests.support.rows import Read, schema_of

CAPTURES = ROOT / "fixtures" / "captures"
BUNDLED = Path(ptttool.__file__).parent / "demo" / "recordings"
TRACES = (path for path in CAPTURES.rglob("*.data*") if path.suffix != ".json" and ".kernel." not in path.name)
RECORDINGS = sorted((*TRACES, *BUNDLED.glob("*.xz")))
COLUMNS = (*ALL_COLUMNS, *DW_COLUMNS)
# Formats of perf's event: bits 35:32 of config.
CONFIG_8DW, CONFIG_4DW, CONFIG_8DW_V1 = 0x1_0728_0001, 0x0728_0001, 0x11_0728_0001


@pytest.fixture
def capture(tmp_path: Path) -> Any:
    def unpacked(name: str) -> Path:
        path = CAPTURES / name
        if path.suffix != ".xz":
            return path
        plain = tmp_path / path.stem
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        return plain

    return unpacked


def sums_of(groups: dict[str, Sums]) -> dict[str, tuple[int, int]]:
    return {name: (each.records, each.payload_bytes) for name, each in groups.items()}


def whole(trace: Read, columns: tuple[str, ...] = COLUMNS) -> pl.DataFrame:
    return pl.concat(list(trace.frames(columns)))


def decode(path: Path, columns: tuple[str, ...] = COLUMNS) -> pl.DataFrame:
    with Read(path) as trace:
        return whole(trace, columns)


def written(tmp_path: Path, data: bytes, name: str = "perf.data") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name.split('.')[0]}")
def test_every_column_of_every_recording(path: Path, capture: Any) -> None:
    plain = capture(str(path))
    rows = reference.read_recording(plain)
    with Read(plain) as trace:
        count = 0
        for frame in trace.frames(COLUMNS):
            assert frame.schema == schema_of(COLUMNS)
            part = [next(rows) for _ in range(frame.height)]
            for name in COLUMNS:
                assert frame[name].to_list() == [row[name] for row in part], name
            count += frame.height
        assert next(rows, None) is None
        assert trace.contents.problems == []
        assert trace.findings.records == trace.progress.records == count
        assert trace.progress.done == trace.progress.total == plain.stat().st_size
        assert not trace.findings.unknown_codes
        assert trace.findings.unchecked_records == trace.findings.tail_bytes == trace.findings.format_conflicts == 0
        assert bool(trace.findings.diagnostics()) == (path.name == "x-control.data.xz")


def test_recordings_are_there() -> None:
    assert len(RECORDINGS) >= 60


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("6.12/m-4dw-port10-type7-dir2.data", {"MRd": 636, "MWr": 5023, "CfgRd0": 16, "CplD": 1047}),
        ("6.12/s-8dw-ports-dir2.data", {"MRd": 854, "MWr": 1541, "Msg": 185, "Cpl": 20, "CplD": 143, "FetchAdd": 124, "CAS": 133}),
        ("6.12/x-idle.data", {}),
        ("6.12/x-sigkill.data", {}),
        ("6.1/x-control.data.xz", {"MRd": 144, "MWr": 3120}),
    ],
)
def test_sums(name: str, kinds: dict[str, int], capture: Any) -> None:
    with Read(capture(name)) as trace:
        tally = trace.tally()
        assert {kind: records for kind, (records, _) in sums_of(tally.kinds).items()} == kinds
        frame = whole(trace)  # a second walk
    assert tally.records == frame.height
    assert tally.payload_bytes == frame["payload_bytes"].cast(pl.UInt64).sum()
    for column, sums in (("kind", sums_of(tally.kinds)), ("class", sums_of(tally.classes))):
        counted = Counter(frame[column].to_list())
        assert {name: records for name, (records, _) in sums.items() if records} == dict(counted)
    by_requester = frame.group_by("requester").agg(pl.len(), pl.col("payload_bytes").cast(pl.UInt64).sum())
    assert {PciAddress.parse(each.requester).routing_id: (each.records, each.payload_bytes) for each in tally.requesters} == {
        requester: (records, size) for requester, records, size in by_requester.rows()
    }
    times = frame["time"]
    ends = (times[0], times[-1]) if frame.height else (None, None)
    assert asdict(tally.time) == {"first": ends[0], "last": ends[1], "smallest": times.min(), "largest": times.max()}


def enabled() -> pl.Expr:
    first, last = pl.col("first_be").bitwise_count_ones().cast(pl.Int64), pl.col("last_be").bitwise_count_ones().cast(pl.Int64)
    length = pl.col("length_dw").cast(pl.Int64)
    return pl.when(length == 1).then(first).otherwise(first + last + 4 * (length - 2))


def test_a_random_read_workload_agrees_with_fio(capture: Any) -> None:
    """20000 IOs by both directions in 4DW; 4000 IOs of 4 KiB in 8DW: submission entries read, completion entries and data written."""
    both = decode(capture("workloads/w-randread-4dw.data.xz"), ("kind", "length_dw"))
    assert both.filter(kind="MRd", length_dw=16).height == both.filter(kind="CplD", length_dw=16).height == 20000
    frame = decode(capture("workloads/w-randread-8dw.data.xz"), ("kind", "payload_bytes", "length_dw", "requester", "first_be", "last_be"))
    assert set(frame["requester"]) == {0x0100}
    assert frame.filter(kind="MRd", length_dw=16).height == frame.filter(kind="MWr", payload_bytes=16).height == 4000
    data = frame.filter(pl.col("kind") == "MWr", pl.col("payload_bytes") > 16)
    assert data.select(enabled().sum()).item() == 16_384_000


def test_a_download_agrees_with_ethtool(capture: Any) -> None:
    """3298 packets of 4975267 bytes: as many descriptors written back; the data lack the 4 bytes of each packet's checksum."""
    frame = decode(capture("workloads/w-download-8dw.data.xz"), ("kind", "payload_bytes", "length_dw", "first_be", "last_be"))
    writes = frame.filter(kind="MWr")
    assert writes.filter(payload_bytes=16).height == 3298
    assert writes.filter(~pl.col("payload_bytes").is_in([4, 16])).select(enabled().sum()).item() == 4_975_267 - 4 * 3298


def test_lspci_reads_the_configuration_space(capture: Any) -> None:
    frame = decode(capture("workloads/w-config-dir3-4dw.data.xz"), ("kind", "destination", "register"))
    reads = frame.filter(kind="CfgRd0")
    assert reads.filter(destination=0x0100).height == 31
    assert reads["register"][0] == 0


def test_zero_records_of_an_old_driver(capture: Any) -> None:
    """Three of the seven payloads begin with zeros, which perf takes for 4DW; the event says 8DW."""
    with Read(capture("6.1/x-control.data.xz")) as trace:
        frame = whole(trace, ("index", "offset", "kind"))
        assert frame.height == 3264 and frame["index"].to_list() == list(range(3264))
        assert trace.findings.zero_records == 88128
        assert [sign.code for sign in trace.findings.diagnostics()] == ["zero-records"]
        assert {payload.layout.name for payload in trace.payloads()} == {"8dw", "4dw"}


def test_frames_start_again_with_every_walk(capture: Any) -> None:
    with Read(capture("6.12/s-4dw-ports-dir0.data")) as trace:
        assert whole(trace).equals(whole(trace))
        assert trace.findings.records == 3607
        assert trace.tally().records == 3607


def test_two_streams_have_offsets_of_their_own(capture: Any) -> None:
    frame = decode(capture("6.12/s-4dw-ports-dir0.data"), ("cpu", "offset"))
    assert frame.group_by("cpu", maintain_order=True).agg(pl.len(), first=pl.min("offset"), last=pl.max("offset")).rows() == [
        (0, 3000, 0, 48000 - 16),
        (1, 607, 0, 9712 - 16),
    ]


def test_json_of_the_sums(capture: Any) -> None:
    with Read(capture("6.12/m-8dw-port10-type7-dir2.data")) as trace:
        sums: Any = to_json(trace.tally())
    sizes = ["records", "payload_bytes", "requested_bytes"]
    assert list(sums) == [*sizes, "kinds", "classes", "directions", "flows", "requesters", "more_requesters", "time"]
    assert list(sums["classes"]) == ["P", "NP", "CPL"]
    assert sums["kinds"]["MRd"] == {"records": 639, "payload_bytes": 0, "requested_bytes": 213980}
    assert sums["requesters"][0]["requester"] == format_id(0x0100)
    assert sums["requesters"][0]["classes"]["P"]["records"] == 4930


# Recordings made by hand.


def test_pieces_make_frames_of_some_size(tmp_path: Path) -> None:
    """Many small payloads do not make as many frames."""
    chunks = [(0, 32 * 100 * i, words_8dw(100, time=100 * i)) for i in range(1000)]
    path = written(tmp_path, build_perfdata(chunks))
    with Read(path) as trace:
        frames = list(trace.frames(("index", "offset", "time")))
    assert sum(frame.height for frame in frames) == 100_000
    assert all(frame.height >= PIPE_RECORDS for frame in frames[:-1])
    joined = pl.concat(frames)
    assert joined["index"].to_list() == joined["time"].to_list() == list(range(100_000))
    assert joined["offset"].to_list() == list(range(0, 3_200_000, 32))


def test_a_large_payload_makes_several_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads_module, "_RECORDS", 1000)
    path = written(tmp_path, build_perfdata([(0, 4096, words_8dw(2600))]))
    with Read(path) as trace:
        frames = [batch.to_polars() for batch in trace.walk().run(Select(Query(("index", "offset", "time")), unit_records=1000))]
        payloads = list(trace.payloads())
    assert [frame.height for frame in frames] == [1000, 1000, 600]
    assert pl.concat(frames)["offset"].to_list() == list(range(4096, 4096 + 2600 * 32, 32))
    assert [(payload.start, len(payload.dws)) for payload in payloads] == [(0, 1000), (32000, 1000), (64000, 600)]
    assert {payload.payload_size for payload in payloads} == {2600 * 32}


@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_mixed_payloads_and_tails(tmp_path: Path, mode: str) -> None:
    """Each payload is read by what it holds: the event says 8DW, the second payload is 4DW."""
    chunks = [(0, 0, words_8dw(10) + b"12345"), (0, 320, words_4dw(6)), (1, 0, words_8dw(3) + bytes(16))]
    path = written(tmp_path, build_perfdata(chunks, config=CONFIG_8DW, mode=mode))
    with Read(path) as trace:
        frame = whole(trace, ("index", "offset", "cpu", "kind", "so"))
        assert frame["index"].to_list() == list(range(19))
        assert frame["so"].to_list() == [None] * 10 + [0] * 6 + [None] * 3
        assert frame["offset"][10:16].to_list() == list(range(320, 416, 16))
        assert frame["cpu"].to_list() == [0] * 16 + [1] * 3
        findings = trace.findings
        assert (findings.format_conflicts, findings.tails, findings.tail_bytes) == (1, 2, 21)
        assert [sign.code for sign in findings.diagnostics()] == ["tails", "format-conflict"]
        assert trace.tally().records == 19


def test_pattern_v1_of_the_event_the_option_and_perf(tmp_path: Path) -> None:
    """Hand-made records of pattern v1: no recording has them."""
    records = packed([eight(0x20000010, 0x0100_12_FF, 5 << 23 | 0xA << 16 | 0x00FE, 0xDCBA9870)] * 4)
    columns = ("address", "segment")
    path = written(tmp_path, build_perfdata([(0, 0, records)], config=CONFIG_8DW_V1))
    assert decode(path, columns).row(0) == (0xFE_DCBA_9870, 5)
    with Read(path, pattern="legacy") as trace:
        assert whole(trace, columns).row(0) == (0x28A00FE << 32 | 0xDCBA9870, None)
    newer = written(tmp_path, build_perfdata([(0, 0, records)], config=CONFIG_8DW, info=auxtrace_info(6, 11, 1)), "newer")
    with Read(newer) as trace:
        assert whole(trace, columns).row(0)[1] is None
        assert [sign.code for sign in trace.findings.diagnostics()] == ["layout"]
    with Read(newer, pattern="v1") as trace:
        assert whole(trace, columns).row(0) == (0xFE_DCBA_9870, 5)


def test_without_the_event_the_data_decide(tmp_path: Path) -> None:
    for data, count in ((words_8dw(7), 7), (words_4dw(9), 9), (bytes(64) + words_8dw(2), 2)):
        body = auxtrace_info(6, 11) + auxtrace(data)
        path = written(tmp_path, build_file(body, [(attr(1, 9), [1])]))
        with Read(path) as trace:
            assert trace.attribute is None
            assert whole(trace, ("kind",))["kind"].to_list() == ["MWr"] * count
            assert trace.findings.format_conflicts == 0


def test_the_ptt_event_is_found(tmp_path: Path) -> None:
    """By the PMU's number, which a software event must not be taken for."""
    attributes = [(attr(1, CONFIG_8DW), [1]), (attr(11, CONFIG_4DW), [2])]
    for data in (build_file(auxtrace_info(6, 11), attributes), build_pipe(auxtrace_info(6, 11), attributes)):
        with Read(written(tmp_path, data)) as trace:
            assert whole(trace).height == 0
            assert trace.attribute is not None and trace.attribute.config == CONFIG_4DW


def test_nothing_traced_is_an_empty_frame_with_every_column(tmp_path: Path) -> None:
    for data in (build_perfdata([]), build_perfdata([(0, 0, bytes(640))]), build_perfdata([(0, 0, b"")])):
        with Read(written(tmp_path, data)) as trace:
            (frame,) = trace.frames(COLUMNS)
            assert frame.height == 0 and frame.schema == schema_of(COLUMNS)
            tally = trace.tally()
            assert tally.records == 0 and tally.time.first is None
            assert trace.findings.zero_records in (0, 20)


@pytest.mark.parametrize(("number", "name"), [(1, "Intel PT"), (4, "Arm SPE"), (99, "type 99")])
def test_another_pmu_is_named(tmp_path: Path, number: int, name: str) -> None:
    path = written(tmp_path, build_perfdata([(0, 0, words_8dw(3))], auxtrace_type=number, name="other/x/"))
    with pytest.raises(InputError, match=name) as caught:
        Read(path)
    assert caught.value.code == "other-pmu" and str(path) in str(caught.value)


def test_a_recording_without_ptt_says_what_it_is(tmp_path: Path) -> None:
    data = build_perfdata([], info=b"", pmu_type=4, name="cycles")
    with pytest.raises(InputError, match="cycles") as caught:
        Read(written(tmp_path, data))
    assert caught.value.code == "no-ptt"


def test_ptt_with_nothing_in_it_needs_no_info_record(tmp_path: Path) -> None:
    assert decode(written(tmp_path, build_perfdata([], info=b""))).height == 0


def test_a_truncated_recording_gives_what_there_is(tmp_path: Path) -> None:
    """Cut in the middle of the payload: no exception, a problem, and the records before it."""
    data = build_perfdata([(0, 0, words_8dw(1000))], features={})
    path = written(tmp_path, data[:-16_000])
    with Read(path) as trace:
        frame = whole(trace, ("time",))
        assert frame["time"].to_list() == list(range(frame.height))
        assert 400 < frame.height < 600
        assert trace.contents.problems
        assert trace.findings.missing_bytes == 32_000 - frame.height * 32 - trace.findings.tail_bytes
        assert "missing-bytes" in [sign.code for sign in trace.findings.diagnostics()]


def test_cut_anywhere_no_walk_raises_but_for_a_reason(tmp_path: Path) -> None:
    data = build_perfdata([(0, 0, words_8dw(20)), (0, 640, words_8dw(20))])
    for size in range(0, len(data), 97):
        path = written(tmp_path, data[:size])
        try:
            with Read(path) as trace:
                height = whole(trace, ("kind",)).height
                assert height <= 40 and (height == 40 or trace.contents.problems)
        except InputError:
            assert size < len(data) - 700


def test_directories_are_read(tmp_path: Path) -> None:
    folder = build_directory(tmp_path / "perf.data", [(0, 0, words_8dw(5)), (1, 0, words_8dw(6))])
    with Read(folder) as trace:
        frame = whole(trace, ("cpu", "offset"))
    assert Counter(frame["cpu"].to_list()) == {0: 5, 1: 6}


# Raw dumps.


@pytest.mark.parametrize(("name", "data"), [("8dw", words_8dw(300)), ("4dw", words_4dw(300))])
def test_a_raw_dump_is_read_like_the_recording_it_comes_from(tmp_path: Path, name: str, data: bytes) -> None:
    dump = written(tmp_path, data + b"abc", "aux.bin")
    recording = written(tmp_path, build_perfdata([(0, 0, data)], config=CONFIG_8DW if name == "8dw" else CONFIG_4DW))
    with Read(dump, raw_format=name) as trace:
        assert trace.recording.is_raw and trace.contents.mode == "raw"
        frame = whole(trace)
        assert trace.findings.tail_bytes == 3
        assert frame["cpu"].null_count() == 300
        assert trace.progress.done == trace.progress.total == len(data) + 3
    assert frame.drop("cpu", "direction").equals(decode(recording).drop("cpu", "direction"))  # a dump has no event


def test_a_raw_dump_of_another_format_is_read_as_asked_and_that_is_told(tmp_path: Path) -> None:
    with Read(written(tmp_path, words_8dw(9)), raw_format="4dw") as trace:
        assert whole(trace).height == 18
        assert "layout" in [sign.code for sign in trace.findings.diagnostics()]
        assert trace.findings.formats == {"4DW": 1}


def test_a_raw_dump_that_is_a_recording(tmp_path: Path) -> None:
    path = written(tmp_path, build_perfdata([(0, 0, words_8dw(9))]))
    with pytest.raises(InputError) as caught:
        Read(path, raw_format="8dw")
    assert caught.value.code == "not-raw"


def test_perf_text_of_a_raw_dump_is_of_the_named_format(tmp_path: Path) -> None:
    with Read(written(tmp_path, bytes(32) + words_8dw(9)), raw_format="8dw") as trace:
        assert [(payload.layout.eight_dw, payload.payload_size) for payload in trace.payloads()] == [(True, 320)]


def test_a_raw_dump_through_a_fifo(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    data = words_8dw(200_000)
    writer = threading.Thread(target=fifo.write_bytes, args=(data,))
    writer.start()
    with Read(fifo, raw_format="8dw") as trace:
        frame = whole(trace, ("time", "offset"))
        assert trace.progress.total is None and trace.progress.done == len(data)
    writer.join()
    assert frame["time"].to_list() == list(range(200_000))
    assert frame["offset"].to_list() == list(range(0, len(data), 32))


def test_standard_input_is_read_once(tmp_path: Path) -> None:
    code = (
        "import sys; from tests.support.rows import Read; from ptttool.errors import UsageError\n"
        "t = Read('-', raw_format='8dw'); print(t.tally().records)\n"
        "try: t.tally()\nexcept UsageError as error: print(error.code)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=words_8dw(77), capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.decode().split() == ["77", "stdin-twice"]


def test_what_is_no_raw_dump(tmp_path: Path) -> None:
    written(tmp_path, b"", "empty")
    for path, code in ((tmp_path / "empty", "empty-file"), (tmp_path, "is-a-folder"), (tmp_path / "none", "no-such-file")):
        with pytest.raises(InputError) as caught:
            Read(path, raw_format="8dw")
        assert caught.value.code == code


def test_options_are_checked(tmp_path: Path) -> None:
    path = written(tmp_path, words_8dw(1))
    for given in ({"raw_format": "16dw"}, {"raw_format": "8dw", "pattern": "v2"}):
        with pytest.raises(UsageError) as caught:
            Read(path, **given)
        assert caught.value.code == "bad-parameter"


def random_like(count: int) -> Iterator[Words]:
    for i in range(count):
        yield four(0x60, i << 16 & 0xFFFF0000 | 0x0F, 1, 4 * i & 0xFFFFFFFC, length=i % 1024, time=i % 2048)


def test_sums_merge() -> None:
    """Every requester there can be, and Unknown among them; the sum of the parts is the sum of the whole."""
    records = [*random_like(70_000), (0xFFFFFFFF, 1, 1, 1), (0, 0, 0, 0)]
    words = np.frombuffer(packed(records), dtype="<u4").reshape(-1, 4)
    layout = Layout(eight_dw=False)

    def summed(part: U32) -> tuple[Summary, Findings]:
        rows, findings = LoadedTlpUnit(loaded(part, layout)).decoded(0)
        summary = Summary()
        summary.update(rows.batch(Summary.columns))
        return summary, findings

    first, second = summed(words[:30_000])[0], summed(words[30_000:])[0]
    everything, findings = summed(words)
    first.merge(second)
    context = AnalysisContext("test", Contents(Mode.RAW))
    whole = everything.result(context)
    assert first.result(context) == whole
    assert asdict(whole.time) == {"first": 0, "last": 2047, "smallest": 0, "largest": 2047}
    assert whole.records == 70_001 and len(whole.requesters) + whole.more_requesters == 65_536
    assert asdict(whole.kinds["Unknown"]) == {"records": 1, "payload_bytes": 0, "requested_bytes": 0}
    assert whole.payload_bytes == sum(4 * (i % 1024 or 1024) for i in range(70_000))
    assert findings.unknown_codes == {0x7F: 1}


def test_memory_stays_bounded(tmp_path: Path) -> None:
    """64 MiB of records: the peak is that of a few frames, not of the file."""
    path = tmp_path / "perf.data"
    payload = words_8dw(1 << 17)
    with path.open("wb") as file:
        file.write(build_file(auxtrace_info(6, 11), [(attr(11, CONFIG_8DW), [1])], data_size=0))
        for i in range(16):
            file.write(auxtrace(payload, offset=i * len(payload), cpu=0))
    code = (
        "import sys, resource; from tests.support.rows import Read\n"
        "def peak(): return int(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
        "t = Read(sys.argv[1]); frames = t.frames(('index', 'kind', 'address')); next(frames); before = peak()\n"
        "rows = 262144 + sum(f.height for f in frames); print(rows, (peak() - before) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True, text=True, cwd=ROOT)
    rows, growth = map(int, done.stdout.split())
    assert rows == 16 << 17
    assert growth < 32


def test_no_permission(tmp_path: Path) -> None:
    path = written(tmp_path, words_8dw(1))
    path.chmod(0)
    code = (
        "import os, sys; from tests.support.rows import Read\n"
        "try: Read('/nowhere', raw_format='8dw')\n"
        "except Exception: pass  # imported by now what only root may read\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "try: Read(sys.argv[1], raw_format='8dw')\n"
        "except Exception as error: print(type(error).__name__, error.exit_code)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["AccessError", "4"]
