"""Whole generated recordings: read by perf, by the slow decoder and by the fast one, and without a sign of loss."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptttool.analyses.loss import signs_of_loss
from ptttool.errors import UsageError
from ptttool.generate.profiles import PROFILES
from ptttool.generate.recording import GeneratedRecording, Wanted
from ptttool.tlp.columns import ALL_COLUMNS, DW_COLUMNS
from tests.perfdata.test_recordings import report
from tests.reference import hisi_ptt as reference
from tests.support.rows import Read

MIB = 1 << 20
by_profile = pytest.mark.parametrize("name", PROFILES.names())
by_format = pytest.mark.parametrize("form", ["4dw", "8dw"])


def made(folder: Path, wanted: Wanted) -> tuple[Path, GeneratedRecording]:
    recording = GeneratedRecording(wanted)
    path = folder / "perf.data"
    with path.open("wb") as file:
        recording.write(file)
    return path, recording


@pytest.mark.slow
@by_profile
@by_format
@pytest.mark.parametrize("pattern", ["legacy", "v1"])
def test_the_decoders_agree(tmp_path: Path, name: str, form: str, pattern: str) -> None:
    """In every column of every record."""
    path, recording = made(tmp_path, Wanted(name, form, 100_000, pattern=pattern, payload=30_000))
    slow = list(reference.read_recording(path))
    assert len(slow) == recording.records
    with Read(path) as trace:
        rows = [row for frame in trace.frames((*ALL_COLUMNS, *DW_COLUMNS)) for row in frame.iter_rows(named=True)]
        assert signs_of_loss(trace.contents) == []
        assert trace.contents.problems == []
    assert rows == slow


@by_profile
@by_format
def test_perf_prints_every_record(tmp_path: Path, name: str, form: str) -> None:
    path, recording = made(tmp_path, Wanted(name, form, 64 << 10, payload=20_000))
    text = report(path)
    lines = re.findall(r"^\.  [0-9a-f]{8}: ", text, re.MULTILINE)
    assert len(lines) == recording.records * (6 if form == "8dw" else 4)
    sizes = [int(size) for size in re.findall(r"HISI PTT data: size (\d+) bytes", text)]
    assert sum(sizes) == recording.size
    assert all(size == sizes[0] for size in sizes[:-1])


@by_format
@pytest.mark.parametrize(("size", "less"), [(1000, 0), (MIB, 0), (4 * MIB, 1), (12 * MIB, 1), (12 * MIB + 64, 0), (12 * MIB - 1, 0)])
def test_sizes(tmp_path: Path, form: str, size: int, less: int) -> None:
    """Whole records, and one fewer where the trace would end with a full buffer."""
    path, recording = made(tmp_path, Wanted("gpu", form, size))
    per_record = 32 if form == "8dw" else 16
    assert recording.records == size // per_record - less
    assert recording.size == recording.records * per_record
    assert recording.progress.done == recording.progress.total == recording.size
    assert recording.progress.records == recording.records
    with Read(path) as trace:
        assert sum(frame.height for frame in trace.frames(("time",))) == recording.records
        assert signs_of_loss(trace.contents) == []
        events = trace.contents.aux_events
        assert [event.size for event in events[:-1]] == [4 * MIB] * (len(events) - 1)
        assert [payload.size for payload in trace.contents.aux_payloads[:-1]] == [8 * MIB] * (len(trace.contents.aux_payloads) - 1)


def test_aux_events_come_when_their_last_record_was_made(tmp_path: Path) -> None:
    """So that ticks can be told from perf's clock."""
    path, _ = made(tmp_path, Wanted("network", "8dw", 13 * MIB))
    with Read(path) as trace:
        times = [time for frame in trace.frames(("time",)) for time in frame["time"].to_list()]
        events = trace.contents.aux_events
    for event in events:
        assert event.time == 1_000_000_000 + 4 * times[(event.offset + event.size) // 32 - 1]


def test_several_streams(tmp_path: Path) -> None:
    """Each but the last one ends as an AUX area without room leaves it; the records go on from one to the next."""
    path, recording = made(tmp_path, Wanted("nvme", "8dw", 14 * MIB, streams=3))
    assert [stream.records * 32 for stream in recording.streams] == [4 * MIB, 4 * MIB, 6 * MIB]
    with Read(path) as trace:
        frames = list(trace.frames(("time", "cpu", "offset")))
        assert {finding.code for finding in signs_of_loss(trace.contents)} == {"hole"}
    times = [time for frame in frames for time in frame["time"].to_list()]
    assert times == sorted(times)
    assert sorted({cpu for frame in frames for cpu in frame["cpu"].to_list()}) == [0, 1, 2]


@pytest.mark.parametrize(
    ("direction", "form", "value"),
    [("all", "4dw", 2), ("all", "8dw", 2), ("inbound", "4dw", 0), ("inbound", "8dw", 2), ("outbound", "8dw", 1), ("both", "4dw", 2)],
)
def test_the_event_says_how_it_was_traced(tmp_path: Path, direction: str, form: str, value: int) -> None:
    path, recording = made(tmp_path, Wanted("network", form, 50_000, direction=direction, pattern="v1"))
    assert recording.event.name == f"hisi_ptt0_0/filter=0x80004,type=7,direction={value},format={int(form == '8dw')},pattern=1/"
    with Read(path) as trace:
        assert sum(frame.height for frame in trace.frames(("time",))) == recording.records
        attribute = trace.attribute
    assert attribute is not None
    assert attribute.name == recording.event.name
    assert attribute.config == 0x10_0700_0000 | 0x80004 | value << 20 | int(form == "8dw") << 32


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (Wanted("nvme", "16dw", MIB), "unknown-format"),
        (Wanted("nvme", "4dw", MIB, pattern="v2"), "unknown-pattern"),
        (Wanted("nvme", "4dw", MIB, direction="up"), "unknown-direction"),
        (Wanted("nvme", "8dw", MIB, direction="both"), "8dw-both"),
        (Wanted("nvme", "8dw", 31), "bad-size"),
        (Wanted("nvme", "8dw", 32 * 4, streams=5), "bad-size"),
        (Wanted("nvme", "8dw", MIB, streams=0), "bad-streams"),
        (Wanted("nvme", "8dw", MIB, streams=65), "bad-streams"),
        (Wanted("nvme", "8dw", MIB, payload=4095), "bad-size"),
        (Wanted("floppy", "8dw", MIB), "unknown-profile"),
    ],
)
def test_what_cannot_be_made(wanted: Wanted, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        GeneratedRecording(wanted)
    assert caught.value.code == code
