"""Real recordings: what the reader finds is what perf found."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.readers.opening import open_perfdata
from tests.support import captures

SHAPES = captures.shapes()
AUXTRACE_RECORD = 48


def check(reader: Reader, name: str) -> None:
    """Walk it and compare with what perf said."""
    shape, content = SHAPES[name], captures.content(name)
    payloads: dict[int, bytearray] = {}
    found = []
    for chunk in reader.chunks():
        assert chunk.missing == 0
        assert chunk.read().readonly
        assert chunk.start == len(payloads.setdefault(chunk.number, bytearray()))
        payloads[chunk.number] += chunk.read()
        if chunk.start == 0:
            record = chunk.file_offset - AUXTRACE_RECORD
            found.append((chunk.offset, chunk.payload_size, chunk.cpu, chunk.idx, chunk.tid, chunk.reference, record))
    assert found == [tuple(a[key] for key in ("offset", "size", "cpu", "idx", "tid", "reference", "file_pos")) for a in shape["auxtrace"]]
    for payload, (_, size, *_, record) in zip(payloads.values(), found, strict=True):
        assert payload == content[record + AUXTRACE_RECORD :][:size]
    contents = reader.contents
    assert contents.mode == shape["mode"]
    assert contents.problems == []
    assert contents.unknown == {}
    assert reader.position == shape["file_size"]
    assert [(p.offset, p.size, p.held, p.cpu) for p in contents.aux_payloads] == [(o, s, s, c) for o, s, c, *_ in found]
    if name == "6.12/x-sigkill":  # perf's own tools read nothing of it
        assert contents.interrupted
        assert contents.records["FORK"] == 105
        return
    assert not contents.interrupted
    assert contents.records == shape["events"]
    for event, (offset, size, flags, time) in zip(contents.aux_events, shape["aux"], strict=True):
        assert (event.offset, event.size, event.flags) == (offset, size, flags)
        assert time is None or event.time == time
    for own, perfs in zip(contents.attributes, shape["attributes"], strict=True):
        got = {"name": own.name, "ids": list(own.ids), "type": own.type, "size": own.size, "config": own.config}
        assert got == perfs
    for key, value in shape.get("features", {}).items():
        own_value = contents.features[key]
        if key == "cmdline":
            assert isinstance(own_value, list)
            assert value == " ".join(str(word) for word in own_value)
        elif key == "pmu_mappings":
            assert isinstance(own_value, dict)
            assert value == {str(number): text for number, text in own_value.items()}
        else:
            assert own_value == value
    assert contents.auxtrace_type == 6
    (ptt,) = (attribute for attribute in contents.attributes if str(attribute.name).startswith("hisi_ptt"))
    assert contents.auxtrace_priv == (ptt.type,)


@pytest.mark.parametrize("name", SHAPES)
def test_file(name: str, tmp_path: Path) -> None:
    with open_perfdata(captures.path_of(name, tmp_path)) as reader:
        assert reader.size == SHAPES[name]["file_size"]
        check(reader, name)


@pytest.mark.parametrize("name", SHAPES)
def test_through_a_pipe(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["cat", captures.path_of(name, tmp_path)], stdout=subprocess.PIPE, text=True) as cat:
        monkeypatch.setattr("sys.stdin", cat.stdout)
        with open_perfdata("-") as reader:
            assert reader.size is None
            check(reader, name)


def test_the_aux_event_inside_compressed_records_names_the_record_around_it() -> None:
    """-z wraps AUX events, the payload stays outside."""
    with open_perfdata(captures.FOLDER / "6.12/x-compress-z.data") as reader:
        (chunk,) = reader.chunks()
        (event,) = reader.contents.aux_events
        content = captures.content("6.12/x-compress-z")
    assert event.cpu == 0
    assert content[event.file_offset] == 81
    assert event.size == chunk.payload_size


def test_interleaved_samples_give_the_session_its_span(tmp_path: Path) -> None:
    with open_perfdata(captures.path_of("6.12/x-with-cpu-clock", tmp_path)) as reader:
        assert len(list(reader.chunks())) == 1
        contents = reader.contents
    assert contents.records["SAMPLE"] > 100
    assert contents.first_time is not None
    assert contents.last_time is not None
    (event,) = contents.aux_events
    assert event.time is not None
    assert contents.first_time < event.time <= contents.last_time
    sampled = contents.features["sample_time"]
    assert isinstance(sampled, dict)
    assert contents.first_time <= sampled["first"] <= sampled["last"] <= contents.last_time


def test_a_real_directory() -> None:
    """perf record -z --threads: the numbers are those of ``perf report -D``. It holds no AUX data: perf refuses that."""
    with open_perfdata(captures.FOLDER / "x86" / "threads-z") as reader:
        assert list(reader.chunks()) == []
        contents = reader.contents
        assert reader.position == reader.size
    assert contents.mode == "directory"
    assert contents.problems == []
    assert contents.records == {
        "MMAP": 1, "COMM": 6, "ID_INDEX": 1, "THREAD_MAP": 1, "CPU_MAP": 1, "EVENT_UPDATE": 2, "FINISHED_INIT": 1, "EXIT": 3, "FORK": 2,
        "SAMPLE": 25, "MMAP2": 20, "COMPRESSED": 3,
    }  # fmt: skip
    assert (contents.first_time, contents.last_time) == (4754875731620, 4754891029371)
    assert contents.features["dir_format"] == 1
    assert contents.auxtrace_type is None
