"""The reader's front door and every shape of perf.data, on files built for it."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ptttool.errors import AccessError, InputError, MissingPackageError
from ptttool.perfdata.model import AuxChunk, Contents, Mode
from ptttool.perfdata.problems import error_of, offset_of
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.readers.files import MOST, FileReader
from ptttool.perfdata.readers.opening import open_perfdata
from ptttool.perfdata.readers.stream import PIECE
from tests.support import recordings as rec

ONE = [(0, 0, rec.words_8dw(10))]
TWO = [(0, 0, rec.words_8dw(10)), (1, 0, rec.words_8dw(3)), (0, 320, rec.words_8dw(2))]


def read(path: Path | str) -> tuple[list[tuple[int, int, bytes]], Contents]:
    """All of a recording: (cpu, offset, payload), pieces put together."""
    with open_perfdata(path) as reader:
        return gather(reader), reader.contents


def gather(reader: Reader) -> list[tuple[int, int, bytes]]:
    payloads: dict[int, tuple[int, int, bytes]] = {}
    for chunk in reader.chunks():
        before = payloads.get(chunk.number, (0, 0, b""))[2]
        assert len(before) == chunk.start
        payloads[chunk.number] = (chunk.cpu, chunk.offset, before + bytes(chunk.read()))
    return list(payloads.values())


@contextmanager
def fifo(tmp_path: Path, content: bytes | Callable[[int], None]) -> Iterator[Path]:
    """A FIFO that somebody writes ``content`` into."""
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def write() -> None:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            if callable(content):
                content(descriptor)
            else:
                view = memoryview(content)
                while view:
                    view = view[os.write(descriptor, view) :]
        except BrokenPipeError:
            return
        finally:
            os.close(descriptor)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield path
    finally:
        writer.join(timeout=120)
        assert not writer.is_alive()


def all_ways(tmp_path: Path, content: bytes) -> Iterator[tuple[list[tuple[int, int, bytes]], Contents]]:
    """Read as a local file, as one on remote storage, and through a FIFO."""
    path = tmp_path / "perf.data"
    path.write_bytes(content)
    yield read(path)
    with FileReader(str(path), Mode.FILE, rec.FileOnRequest(path)) as reader:
        yield gather(reader), reader.contents
    with fifo(tmp_path, content) as pipe:
        yield read(pipe)
    (tmp_path / "fifo").unlink()


# What is no perf.data.

FOREIGN = {
    "empty": (b"", "empty-file", None),
    "text": (b"type,requester,address\n", "foreign-file", 0),
    "zeros": (bytes(4096), "not-perf-data", 0),
    "random": (bytes(range(7, 200)) * 30, "not-perf-data", 0),
    "raw 8dw": (rec.words_8dw(4), "not-perf-data", 0),
    "xz": (b"\xfd7zXZ\0" + bytes(100), "compressed-file", 0),
    "gzip": (b"\x1f\x8b\x08" + bytes(100), "compressed-file", 0),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(100), "compressed-file", 0),
    "version 1": (b"PERFFILE" + bytes(200), "old-version", 0),
    "big-endian": (b"2ELIFREP" + bytes(200), "big-endian", 0),
    "half a magic": (b"PERF", "truncated", 4),
    "magic only": (b"PERFILE2", "truncated", 8),
    "half a header": (rec.build_perfdata(ONE)[:60], "truncated", 60),
    "header size": (b"PERFILE2" + struct.pack("<Q", 105) + bytes(200), "damaged-header", 8),
    "data in the header": (b"PERFILE2" + struct.pack("<8Q", 104, 144, 104, 0, 64, 0, 0, 0) + bytes(200), "damaged-header", 40),
}


@pytest.mark.parametrize("through_pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("case", FOREIGN)
def test_foreign(case: str, through_pipe: bool, tmp_path: Path) -> None:
    content, code, offset = FOREIGN[case]
    path = tmp_path / "some.file"
    if not through_pipe:
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            open_perfdata(path)
    else:
        with fifo(tmp_path, content) as path, pytest.raises(InputError) as caught:
            open_perfdata(path)
    error = caught.value
    assert error.exit_code == 6
    assert str(path) in error.message
    if code == "compressed-file" and not through_pipe:
        code = "damaged-archive"  # a file is unpacked, and nothing is in this one
    assert (error.code, error.offset) == (code, offset)


def test_hints(tmp_path: Path) -> None:
    """Where there is something to do about it, it is said."""
    for content, hint in ((b"", "perf record leaves an empty file"), (b"PK\x03\x04", "unzip -p"), (b"\1\2\3", "--input")):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            open_perfdata(path)
        assert hint in str(caught.value.hint)


def refused(path: Path) -> tuple[str, str]:
    """The code of the error, and the path that it names."""
    with pytest.raises(InputError) as caught:
        open_perfdata(path)
    return caught.value.code, caught.value.path


def test_dev_null() -> None:
    with pytest.raises(InputError) as caught:
        open_perfdata("/dev/null")
    assert (caught.value.code, caught.value.path) == ("empty-file", "/dev/null")


def test_nothing_there(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert refused(tmp_path / "none") == ("no-such-file", str(tmp_path / "none"))
    assert refused(folder) == ("no-such-file", str(folder))
    (folder / "data").touch()  # what perf leaves when it refuses --threads
    assert refused(folder) == ("empty-file", str(folder / "data"))
    assert refused(folder / "data" / "x") == ("bad-input", str(folder / "data" / "x"))
    os.mkfifo(tmp_path / "fifo")
    (folder / "data").unlink()
    (folder / "data").symlink_to(tmp_path / "fifo")
    assert refused(folder) == ("not-a-file", str(folder / "data"))


def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE))
    path.chmod(0)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(AccessError) as caught:
            open_perfdata(path)
    finally:
        if root:
            os.seteuid(0)
    assert caught.value.exit_code == 4
    assert str(path) in caught.value.message
    assert caught.value.hint


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(InputError) as caught:
        open_perfdata("-")
    assert (caught.value.code, caught.value.path) == ("closed", "standard input")


def test_standard_input_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE))
    with path.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        with open_perfdata("-") as reader:
            assert reader.size == path.stat().st_size
            assert reader.path == "-"
            assert gather(reader) == ONE
        assert file.fileno() > 0  # still the caller's


# Every shape.


@pytest.mark.parametrize("attr_size", [64, 112, 128, 136, 144])
@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_any_attribute_size(attr_size: int, mode: str, tmp_path: Path) -> None:
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(TWO, attr_size=attr_size, mode=mode)):
        assert chunks == TWO
        assert contents.mode == mode
        (attribute,) = contents.attributes
        assert (attribute.type, attribute.config, attribute.size) == (11, rec.DEFAULT_CONFIG, attr_size)
        assert attribute.ids == (1, 2)
        assert attribute.name == rec.DEFAULT_NAME
        assert contents.problems == []
        assert [(e.cpu, e.offset, e.size, e.flags, e.time) for e in contents.aux_events] == rec.aux_tuples(TWO)
        assert contents.first_time == rec.START_TIME
        assert contents.last_time == rec.aux_tuples(TWO)[-1][-1] + 1_000_000
        assert (contents.auxtrace_type, contents.auxtrace_priv) == (6, (11,))
        assert contents.features["cpuid"] == "0x00000000480fd010"


def test_without_features(tmp_path: Path) -> None:
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, features={})):
        assert chunks == ONE
        assert contents.features == {}
        assert contents.problems == []


def test_interrupted(tmp_path: Path) -> None:
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(TWO, interrupted=True)):
        assert chunks == TWO
        assert contents.interrupted
        assert contents.problems == []


@pytest.mark.parametrize("lie", [1 << 20, 1 << 63, (1 << 64) - 1])
def test_data_size_beyond_the_file(lie: int, tmp_path: Path) -> None:
    content = bytearray(rec.build_perfdata(TWO, features={}))
    (data,) = struct.unpack_from("<Q", content, 40)
    struct.pack_into("<Q", content, 48, lie)
    for chunks, contents in all_ways(tmp_path, bytes(content)):
        assert chunks == TWO
        (problem,) = contents.problems
        assert problem.code == "truncated"
        assert problem.details == {"offset": len(content), "missing": data + lie - len(content)}


def test_data_section_behind_the_end(tmp_path: Path) -> None:
    content = bytearray(rec.build_perfdata(ONE))
    struct.pack_into("<Q", content, 40, 1 << 20)
    for chunks, contents in all_ways(tmp_path, bytes(content)):
        assert chunks == []
        assert contents.attributes[0].type == 11
        assert contents.problems[0].code == "truncated"


def test_a_header_without_feature_bits(tmp_path: Path) -> None:
    """Older than 2.6.33; harmless to accept."""
    content = bytearray(rec.build_perfdata(ONE, features={}))
    struct.pack_into("<Q", content, 8, 72)
    for chunks, contents in all_ways(tmp_path, bytes(content)):
        assert chunks == ONE
        assert contents.problems == []


def test_attributes_that_lie(tmp_path: Path) -> None:
    for at, value in ((16, 0), (16, 1 << 40), (24, 1 << 62), (32, 1 << 62)):
        content = bytearray(rec.build_perfdata(ONE))
        struct.pack_into("<Q", content, at, value)
        path = tmp_path / "perf.data"
        path.write_bytes(content)
        chunks, contents = read(path)
        assert chunks == ONE
        assert contents.problems[0].code == "damaged-header"


def test_too_large_for_a_pipe(tmp_path: Path) -> None:
    content = bytearray(rec.build_perfdata(ONE))
    struct.pack_into("<Q", content, 40, 1 << 40)
    with fifo(tmp_path, bytes(content)) as path, pytest.raises(InputError) as caught:
        open_perfdata(path)
    assert (caught.value.code, caught.value.offset) == ("not-for-a-pipe", 40)


@pytest.mark.parametrize("number", [*rec.default_features(), rec.EVENT_DESC])
def test_a_damaged_feature_costs_only_itself(number: int, tmp_path: Path) -> None:
    whole = {**rec.default_features(), rec.EVENT_DESC: rec.event_desc([(rec.attr(11, rec.DEFAULT_CONFIG), rec.DEFAULT_NAME, [1])])}
    for content in (whole[number][:3], b"\xff" * 40, b""):
        for mode in ("file", "pipe"):
            path = tmp_path / "perf.data"
            path.write_bytes(rec.build_perfdata(ONE, mode=mode, features={**whole, number: content}))
            chunks, contents = read(path)
            assert chunks == ONE
            if number not in (rec.TOTAL_MEM, rec.NRCPUS) or len(content) < 8:
                assert len(contents.problems) == 1
                assert contents.problems[0].code == ("damaged-feature" if mode == "file" else "damaged-record")
            assert len(contents.features) >= len(whole) - 1


def test_a_feature_outside_the_file(tmp_path: Path) -> None:
    content = bytearray(rec.build_perfdata(ONE))
    data, size = struct.unpack_from("<QQ", content, 40)
    for value in (0, 1 << 20, 1 << 63):
        struct.pack_into("<Q", content, data + size, value)
        for chunks, contents in all_ways(tmp_path, bytes(content)):
            assert chunks == ONE
            assert "hostname" not in contents.features
            assert contents.features["arch"] == "aarch64"
            assert contents.problems[0].details["feature"] == "hostname"


def test_strange_text_in_features(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(
        rec.build_perfdata(ONE, features={rec.HOSTNAME: rec.string(b"\xff\x1b[2Jx"), 200: b"new", rec.NUMA_TOPOLOGY: bytes(4)})
    )
    _, contents = read(path)
    assert contents.features == {"hostname": "\ufffd\x1b[2Jx", "numa_topology": []}
    assert contents.problems == []


def test_unknown_records_are_counted(tmp_path: Path) -> None:
    extra = rec.record(40, bytes(32)) * 3 + rec.record(99, b"abc") + rec.record(70_000, bytes(8)) * 2
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=extra)):
        assert chunks == ONE
        assert contents.unknown == {40: 3, 99: 1, 70_000: 2}
        assert contents.problems == []


def test_tracing_data_is_stepped_over(tmp_path: Path) -> None:
    extra = rec.record(rec.TRACING_DATA, struct.pack("<I", 40)) + b"\xee" * 40
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=extra, mode="pipe")):
        assert chunks == ONE
        assert contents.problems == []


@pytest.mark.parametrize(
    ("bad", "record", "size"),
    [
        (rec.record(3, size=0), "COMM", 0),
        (rec.record(11, size=7), "AUX", 7),
        (rec.record(9, bytes(32), size=21), "SAMPLE", 21),
        (rec.record(71, bytes(16)), "AUXTRACE", 24),
    ],
)
def test_a_record_that_cannot_be(bad: bytes, record: str, size: int, tmp_path: Path) -> None:
    """What is before it stays good; its place in the file is named."""
    good = rec.build_records(ONE)
    attribute = [(rec.attr(11, rec.DEFAULT_CONFIG), [1])]
    content = rec.build_file(good + bad + good, attribute)
    for chunks, contents in all_ways(tmp_path, content):
        assert chunks == ONE
        (problem,) = contents.problems
        assert problem.code == "damaged-record"
        assert problem.details == {"offset": content.index(good) + len(good), "record": record, "size": size}


def test_short_records_of_types_that_matter(tmp_path: Path) -> None:
    """They are told and stepped over."""
    extra = b"".join(rec.record(kind, bytes(8 * (kind == 11))) for kind in (11, 64, 69, 70, 78, 80))
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=extra)):
        assert chunks == ONE
        assert len(contents.problems) == 6
        assert {problem.code for problem in contents.problems} == {"damaged-record"}


def test_no_flood_of_problems(tmp_path: Path) -> None:
    for _, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=rec.record(11) * 1000)):
        assert len(contents.problems) == 101


def test_no_flood_of_types(tmp_path: Path) -> None:
    extra = b"".join(rec.record(1000 + number) for number in range(10_000))
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=extra)):
        assert len(contents.unknown) == 4096
        assert chunks == []
        assert len(contents.problems) == 1


def test_the_events_own_cpu_counts(tmp_path: Path) -> None:
    """The trailer's CPU is the one that committed: at a session's end that may be another."""
    event = rec.aux(0, 320, tail=rec.trailer(rec.START_TIME + 5, cpu=3, id=2))
    for _, contents in all_ways(tmp_path, rec.build_perfdata([(1, 0, rec.words_8dw(10))], extra=event, aux_events=[])):
        assert [(e.cpu, e.time) for e in contents.aux_events] == [(1, rec.START_TIME + 5)]


@pytest.mark.parametrize(
    "sample_type", [rec.SAMPLE_TYPE, rec.TID | rec.TIME | rec.ID | rec.STREAM_ID | rec.CPU, rec.TIME | rec.CPU, rec.TIME | rec.ID]
)
def test_trailers_of_other_sample_types(sample_type: int, tmp_path: Path) -> None:
    for _, contents in all_ways(tmp_path, rec.build_perfdata(TWO, sample_type=sample_type)):
        assert [(e.cpu, e.time) for e in contents.aux_events] == [(cpu, time) for cpu, *_, time in rec.aux_tuples(TWO)]


def test_attributes_with_different_trailers(tmp_path: Path) -> None:
    """The id in the trailer tells which."""
    other = rec.TID | rec.TIME | rec.STREAM_ID | rec.IDENTIFIER
    attributes = [(rec.attr(1, 9, sample_type=other), [50, 51]), (rec.attr(11, rec.DEFAULT_CONFIG), [1, 2])]
    records = (
        rec.auxtrace_info(6, 11)
        + rec.comm(5_000, tail=rec.trailer(5_000, id=51, sample_type=other))
        + rec.aux(0, 320, tail=rec.trailer(6_000, cpu=1, id=2))
        + rec.comm(7_000, tail=rec.trailer(7_000, id=99))  # nobody's
        + rec.auxtrace(rec.words_8dw(10), cpu=1)
    )
    for build in (rec.build_file, rec.build_pipe):
        for chunks, contents in all_ways(tmp_path, build(records, attributes)):
            assert len(chunks) == 1
            assert [(e.cpu, e.time) for e in contents.aux_events] == [(1, 6_000)]
            assert (contents.first_time, contents.last_time) == (5_000, 6_000)


def test_no_sample_id(tmp_path: Path) -> None:
    records = rec.auxtrace_info(6, 11) + rec.comm(5_000, tail=b"") + rec.aux(0, 320) + rec.auxtrace(rec.words_8dw(10))
    content = rec.build_file(records, [(rec.attr(11, 1, sample_id_all=False), [])])
    for _, contents in all_ways(tmp_path, content):
        assert [(e.cpu, e.time) for e in contents.aux_events] == [(None, None)]
        assert (contents.first_time, contents.last_time) == (None, None)


def test_times_that_perf_made_up_do_not_count(tmp_path: Path) -> None:
    extra = rec.comm(0, tail=rec.trailer(0)) + rec.comm(0, tail=rec.trailer((1 << 64) - 1))
    for _, contents in all_ways(tmp_path, rec.build_perfdata(ONE, extra=extra)):
        assert contents.first_time == rec.START_TIME
        assert contents.last_time is not None
        assert contents.last_time < rec.START_TIME * 2


def test_another_pmu_is_no_error_of_the_container(tmp_path: Path) -> None:
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(ONE, auxtrace_type=4)):
        assert chunks == ONE
        assert contents.auxtrace_type == 4
    for chunks, contents in all_ways(tmp_path, rec.build_perfdata(info=b"")):
        assert chunks == []
        assert contents.auxtrace_type is None
        assert contents.problems == []


# Payloads.


@pytest.mark.parametrize("mode", ["file", "pipe"])
@pytest.mark.parametrize("size", [0, 16, PIECE, 2 * PIECE + 48])
def test_a_pipe_gives_pieces(mode: str, size: int, tmp_path: Path) -> None:
    payload = bytes(range(256)) * (size // 256) + bytes(size % 256)
    content = rec.build_perfdata([(2, 4096, payload), (2, 4096 + size, b"\1" * 32)], mode=mode)
    with fifo(tmp_path, content) as path, open_perfdata(path) as reader:
        seen: list[AuxChunk] = list(reader.chunks())
    expected = [(0, start, min(PIECE, size - start)) for start in range(0, max(size, 1), PIECE)] + [(1, 0, 32)]
    assert [(chunk.number, chunk.start, len(chunk.read())) for chunk in seen] == expected
    assert all(chunk.start % 4096 == 0 and not chunk.missing for chunk in seen)
    assert b"".join(chunk.read() for chunk in seen[:-1]) == payload
    assert [(chunk.payload_size, chunk.offset, chunk.cpu) for chunk in seen[:-1]] == [(size, 4096, 2)] * (len(seen) - 1)
    assert all(content[chunk.file_offset :][: len(chunk.read())] == chunk.read() for chunk in seen)
    assert reader.contents.problems == []


@pytest.mark.parametrize("held", [0, 24, PIECE, PIECE + 64])
def test_a_payload_without_its_end(held: int, tmp_path: Path) -> None:
    whole = rec.build_perfdata([(0, 0, b"\x55" * (PIECE + 128))], features={})
    content = whole[: whole.index(b"\x55" * 64) + held]
    for way, (chunks, contents) in enumerate(all_ways(tmp_path, content)):
        assert chunks == [(0, 0, b"\x55" * held)]
        assert any(problem.details.get("missing") == PIECE + 128 - held for problem in contents.problems), way
        assert [(p.size, p.held) for p in contents.aux_payloads] == [(PIECE + 128, held)]
    path = tmp_path / "perf.data"
    with open_perfdata(path) as reader:
        assert sum(chunk.missing for chunk in reader.chunks()) == PIECE + 128 - held


@pytest.mark.parametrize("lie", [1 << 20, 1 << 63, (1 << 64) - 1])
def test_a_payload_size_that_lies(lie: int, tmp_path: Path) -> None:
    attribute = [(rec.attr(11, rec.DEFAULT_CONFIG), [1])]
    records = rec.auxtrace_info(6, 11) + rec.auxtrace(b"\x55" * 64, size=lie)
    for chunks, contents in all_ways(tmp_path, rec.build_file(records, attribute)):
        assert chunks == [(0, 0, b"\x55" * 64)]
        assert contents.problems[0].code == "truncated"


def test_views_outlive_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE))
    with open_perfdata(path) as reader:
        (chunk,) = reader.chunks()
    assert bytes(chunk.read()) == ONE[0][2]
    reader.close()


def test_chunks_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE))
    with open_perfdata(path) as reader:
        list(reader.chunks())
        with pytest.raises(RuntimeError):
            reader.chunks()


class Counting(rec.FileOnRequest):
    """Counts the bytes that are read."""

    done = 0
    largest = 0

    def read(self, offset: int, size: int) -> bytes:
        data = super().read(offset, size)
        self.done += len(data)
        self.largest = max(self.largest, len(data))
        return data


def test_the_walk_reads_no_payload(tmp_path: Path) -> None:
    size = 96 << 20
    head = rec.build_file(rec.auxtrace_info(6, 11) + rec.auxtrace(b"", size=size), [(rec.attr(11, 1), [1])], data_size=0)
    path = tmp_path / "perf.data"
    path.write_bytes(head)
    os.truncate(path, len(head) + size)
    file = Counting(path)
    with FileReader(str(path), Mode.FILE, file) as reader:
        (chunk,) = reader.chunks()
        assert chunk.size == size
        assert file.done < 2 * MOST
        assert sum(chunk.read(5, 1 << 20)) == 0
        assert file.done < 2 * MOST + (1 << 20)
    assert reader.position == len(head) + size


def test_small_records_are_read_once_and_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE, extra=rec.record(17, bytes(2040)) * 40_000))
    file = Counting(path)
    with FileReader(str(path), Mode.FILE, file) as reader:
        assert len(list(reader.chunks())) == 1
        assert reader.contents.records["KSYMBOL"] == 40_000
    assert file.largest <= MOST
    assert file.done < path.stat().st_size * 1.05


# perf record -z.


@pytest.mark.parametrize("kind", [rec.COMPRESSED, rec.COMPRESSED2])
@pytest.mark.parametrize("piece", [1, 7, 100, 16384])
@pytest.mark.parametrize("frame", [False, True])
def test_compressed(kind: int, piece: int, frame: bool, tmp_path: Path) -> None:
    """Records inside straddle the records around them."""
    plain = rec.comm(rec.START_TIME) * 5 + rec.aux(0, 320, tail=rec.trailer(rec.START_TIME + 9)) + rec.record(40, bytes(16))
    records = rec.auxtrace_info(6, 11) + rec.compress(plain, type=kind, piece=piece, frame=frame) + rec.auxtrace(ONE[0][2])
    for build in (rec.build_file, rec.build_pipe):
        for chunks, contents in all_ways(tmp_path, build(records, [(rec.attr(11, 1), [1])])):
            assert chunks == ONE
            assert contents.records["COMM"] == 5
            assert contents.unknown == {40: 1}
            assert [(e.size, e.time, e.cpu) for e in contents.aux_events] == [(320, rec.START_TIME + 9, 0)]
            assert contents.problems == []


def test_two_frames(tmp_path: Path) -> None:
    """Every frame begins anew."""
    twice = rec.compress(rec.comm(1), frame=True) + rec.compress(rec.comm(2), frame=True)
    for _, contents in all_ways(tmp_path, rec.build_file(twice, [(rec.attr(11, 1), [1])])):
        assert contents.records["COMM"] == 2
        assert contents.problems == []


def test_zstandard_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata(ONE, compressed=rec.COMPRESSED))
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with open_perfdata(path) as reader, pytest.raises(MissingPackageError, match="zstandard") as caught:
        list(reader.chunks())
    assert caught.value.exit_code == 8


@pytest.mark.parametrize(
    ("bad", "code", "words"),
    [
        (b"no zstd at all", "damaged-compression", "not a zstd stream"),
        (None, "over-budget", "compressed bytes become more than"),
        (rec.record(71, bytes(40)), "damaged-compression", "never compressed"),
        (rec.record(3, size=4), "damaged-record", "states a size of 4 bytes"),
    ],
    ids=["garbage", "bomb", "auxtrace inside", "bad record inside"],
)
def test_damaged_compression(bad: bytes | None, code: str, words: str, tmp_path: Path) -> None:
    """What was inside is lost from there on, the payloads outside are not."""
    import zstandard

    if bad is None:
        bad = zstandard.ZstdCompressor(level=1).compress(rec.record(68, bytes(65520)) * 1100)
    elif not bad.startswith(b"no"):
        bad = zstandard.ZstdCompressor().compress(bad)
    before = rec.compress(rec.comm(rec.START_TIME), frame=True)
    whole = before + rec.compressed_record(bad[:60_000]) + before
    records = rec.auxtrace_info(6, 11) + whole + rec.auxtrace(ONE[0][2])
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_file(records, [(rec.attr(11, 1), [1])]))
    chunks, contents = read(path)
    assert chunks == ONE
    assert contents.records["COMM"] == 1
    assert contents.records["COMPRESSED"] == 5  # the frames end in records of their own
    (problem,) = contents.problems
    assert problem.code == code
    assert words in problem.message
    assert offset_of(problem) == path.read_bytes().index(before) + len(before)


def test_compressed_records_that_end_inside_a_record(tmp_path: Path) -> None:
    cut = rec.compress(rec.comm(5)[:-8])
    for _, contents in all_ways(tmp_path, rec.build_file(cut, [(rec.attr(11, 1), [1])])):
        (problem,) = contents.problems
        assert problem.code == "truncated"


def test_compressed2_that_lies(tmp_path: Path) -> None:
    bad = rec.record(rec.COMPRESSED2, struct.pack("<Q", 1 << 63) + bytes(16))
    for chunks, contents in all_ways(tmp_path, rec.build_file(bad + rec.auxtrace(bytes(32)), [(rec.attr(11, 1), [1])])):
        assert chunks == []
        assert contents.problems[0].details["record"] == "COMPRESSED2"


# Directories. No perf writes AUX data into one: these are made by hand.


def test_directory(tmp_path: Path) -> None:
    chunks = [(cpu, 0, rec.words_8dw(1 + cpu)) for cpu in (0, 2, 10)]
    folder = rec.build_directory(tmp_path / "perf.data", chunks)
    (folder / "data.old").write_bytes(b"nothing to do with it")
    (folder / "data.7").touch()
    with open_perfdata(folder) as reader:
        assert gather(reader) == chunks
        contents = reader.contents
        assert reader.position == reader.size == sum((folder / f"data{end}").stat().st_size for end in ("", ".0", ".2", ".10"))
    assert contents.mode == "directory"
    assert contents.features["dir_format"] == 1
    assert [(e.cpu, e.size) for e in contents.aux_events] == [(cpu, len(payload)) for cpu, _, payload in chunks]
    assert contents.problems == []


def test_directory_with_a_damaged_and_an_unreadable_file(tmp_path: Path) -> None:
    folder = rec.build_directory(tmp_path / "perf.data", [(cpu, 0, rec.words_8dw(4)) for cpu in range(3)])
    (folder / "data.0").write_bytes((folder / "data.0").read_bytes()[:-8])
    (folder / "data.1").unlink()
    (folder / "data.1").mkdir()
    chunks, contents = read(folder)
    assert chunks == [(0, 0, rec.words_8dw(4)[:-8]), (2, 0, rec.words_8dw(4))]
    assert [(problem.code, problem.details["file"]) for problem in contents.problems[:2]] == [
        ("bad-input", "data.1"),
        ("truncated", "data.0"),
    ]
    assert [str(error_of(problem, "perf.data")).count("data.1") > 0 for problem in contents.problems[:2]] == [True, False]
    assert offset_of(contents.problems[1]) == (folder / "data.0").stat().st_size
    assert str(contents.problems[0].where) == f"{folder}/data.1"


def test_directory_of_kcore(tmp_path: Path) -> None:
    """perf record --kcore: an ordinary recording, and a copy of the kernel beside it."""
    folder = tmp_path / "perf.data"
    (folder / "kcore_dir").mkdir(parents=True)
    (folder / "data").write_bytes(rec.build_perfdata(TWO))
    chunks, contents = read(folder)
    assert chunks == TWO
    assert contents.mode == "directory"


def test_directory_of_compressed_files(tmp_path: Path) -> None:
    """Every thread has its own stream."""
    folder = rec.build_directory(tmp_path / "perf.data", [])
    for number in (0, 1):
        (folder / f"data.{number}").write_bytes(rec.compress(rec.comm(5) * 3, type=rec.COMPRESSED2))
    _, contents = read(folder)
    assert contents.records["COMM"] == 7
    assert contents.problems == []
