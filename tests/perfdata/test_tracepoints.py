"""Samples of tracepoints: every event and field as perf script shows it. Bad files end in an error or a problem."""

from __future__ import annotations

import lzma
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.errors import InputError
from ptttool.kernel import records
from ptttool.perfdata import layout
from ptttool.perfdata.tracepoints.formats import parse_format, parse_tracing_data
from ptttool.perfdata.tracepoints.samples import Samples, read_samples
from ptttool.perfdata.tracepoints.threads import ThreadNames
from tests import ROOT
from tests.support.plain import plain
from tests.support.tracepoints import (
    COMPLETE,
    ENTRY,
    EVENTS,
    SETUP,
    Event,
    Sample,
    comm,
    complete,
    entry,
    fork,
    kernel_file,
    lost,
    perf_data,
    sample,
    setup,
    tracing_data,
)

FIXTURES = ROOT / "fixtures" / "captures" / "kernel"
LINE = re.compile(r"^ *(?P<comm>.{1,16}?) +(?P<tid>\d+) \[(?P<cpu>\d+)\] +(?P<time>\d+\.\d{9}): +(?P<event>\w+:\w+): (?P<fields>.*)$")
BLOCK = re.compile(r"(\d+),(\d+) (\S*) (?:(\d+) )?\(\) (\d+) \+ (\d+) 0x\w+,\d+,\d+ \[(.*)\]$")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Samples, list[re.Match[str]]]:
    path = tmp_path_factory.mktemp("kernel") / "mix-4dw.kernel.data"
    path.write_bytes(lzma.decompress((FIXTURES / "mix-4dw.kernel.data.xz").read_bytes()))
    text = lzma.decompress((FIXTURES / "mix-4dw.kernel.txt.xz").read_bytes()).decode()
    lines = [LINE.match(line) for line in text.splitlines()]
    assert all(lines)
    return read_samples(str(path)), [line for line in lines if line is not None]


def _told(event: str, fields: str) -> dict[str, Any]:
    """Return what a line of perf script says of the fields."""
    if event.startswith("block:"):
        found = BLOCK.match(fields)
        assert found is not None
        major, minor, rwbs, size, sector, count, last = found.groups()
        told: dict[str, Any] = {"dev": int(major) << 20 | int(minor), "rwbs": rwbs.encode(), "sector": int(sector), "nr_sector": int(count)}
        return told | ({"error": int(last)} if size is None else {"bytes": int(size), "comm": last.encode()})
    told = dict(re.findall(r"(\w+)=(ARRAY\[[^]]*\]|\S*)", fields))
    told.pop("cdw10", None)
    if "ret" in told:
        told["ret"] = int(told["ret"] == "handled")
    return {name: int(value) if str(value).isdigit() else str(value).encode() for name, value in told.items()}


def test_each_event_and_field_is_as_perf_script_shows_it(real: tuple[Samples, list[re.Match[str]]]) -> None:
    samples, lines = real
    assert samples.problems == [] and samples.lost == samples.unread == 0
    assert sum(len(rows) for rows in samples.events.values()) == len(lines)
    for name, rows in samples.events.items():
        of_it = [line for line in lines if line["event"] == name]
        assert len(of_it) == len(rows) > 0
        assert rows["at"].tolist() == [int(line["time"].replace(".", "")) for line in of_it]
        assert rows["on_cpu"].tolist() == [int(line["cpu"]) for line in of_it]
        assert rows["by_tid"].tolist() == [int(line["tid"]) for line in of_it]
        told = [_told(name, line["fields"]) for line in of_it]
        assert told[0].keys() <= set(rows.dtype.names or ())
        for field in told[0]:
            assert rows[field].tolist() == [each[field] for each in told], (name, field)


def test_commands_have_the_bytes_that_perf_script_shows(real: tuple[Samples, list[re.Match[str]]]) -> None:
    samples, lines = real
    rows = samples.events["nvme:nvme_setup_cmd"]
    shown = [re.search(r"cdw10=ARRAY\[([^]]*)\]", line["fields"]) for line in lines if line["event"] == "nvme:nvme_setup_cmd"]
    pairs = [(raw, bytes.fromhex(one[1].replace(", ", ""))) for raw, one in zip(rows["cdw10"], shown, strict=True) if one is not None]
    assert len(pairs) > 250
    assert all(bytes(raw) == told for raw, told in pairs)


def test_threads_are_named_as_perf_script_names_them(real: tuple[Samples, list[re.Match[str]]]) -> None:
    samples, lines = real
    rows = samples.events["nvme:nvme_setup_cmd"]
    told = [line["comm"].encode() for line in lines if line["event"] == "nvme:nvme_setup_cmd"]
    assert samples.threads.at(rows["by_tid"], rows["at"]).tolist() == told
    assert len(set(told)) > 1


def test_only_what_is_wanted_is_held(tmp_path: Path) -> None:
    path = _write(tmp_path, kernel_file([Sample(SETUP, 5, setup(1, 2)), Sample(COMPLETE, 9, complete(1, 2))]))
    found = read_samples(path, {COMPLETE.name: ("cid", "nothing")})
    assert set(found.events) == {COMPLETE.name} and found.counts[SETUP.name] == 1
    rows = found.events[COMPLETE.name]
    assert rows.dtype.names == ("at", "on_cpu", "by_pid", "by_tid", "cid") and rows["cid"].tolist() == [2]


def _write(folder: Path, data: bytes) -> str:
    path = folder / "a.kernel.data"
    path.write_bytes(data)
    return str(path)


def test_samples_come_by_time_whatever_their_order_in_the_file(tmp_path: Path) -> None:
    times = [50, 10, 30, 10, 70]
    found = read_samples(_write(tmp_path, kernel_file([Sample(SETUP, time, setup(1, number)) for number, time in enumerate(times)])))
    rows = found.events[SETUP.name]
    assert rows["at"].tolist() == sorted(times)
    assert rows["cid"].tolist() == [1, 3, 2, 0, 4]


def test_names_follow_names_and_forks(tmp_path: Path) -> None:
    before = comm(100, b"bash") + fork(101, 100, 10) + comm(101, b"fio\x1b[31m", 20)
    found = read_samples(_write(tmp_path, kernel_file([Sample(SETUP, 1, setup(1, 1))], before)))
    tids, times = np.array([100, 101, 101, 101, 7, 0], dtype=np.int32), np.array([5, 5, 15, 25, 5, 5], dtype=np.int64)
    assert found.threads.at(tids, times).tolist() == [b"bash", b"", b"bash", b"fio\x1b[31m", b"", b"swapper"]


def test_each_of_many_threads_has_its_name() -> None:
    names, threads = ThreadNames(1 << 16), np.arange(1 << 15, dtype=np.int32)[::-1] % 20000
    for thread in range(1, 10000):
        names.named(0, thread, b"t%d" % thread)
    names.close()
    found = names.at(threads, np.ones(len(threads), dtype=np.int64)).tolist()
    assert found == [b"swapper" if one == 0 else b"t%d" % one if one < 10000 else b"" for one in threads.tolist()]


def test_an_event_with_too_many_samples_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.perfdata.tracepoints.samples.MAX_SAMPLES", 3)
    samples = [Sample(ENTRY, time, entry(4, b"a")) for time in range(9)] + [Sample(SETUP, 5, setup(1, 1))]
    found = read_samples(_write(tmp_path, kernel_file(samples)))
    assert [(problem.code, problem.details["event"]) for problem in found.problems] == [("over-budget", ENTRY.name)]
    assert ENTRY.name not in found.events and len(found.events[SETUP.name]) == 1


def test_samples_that_were_lost_are_counted(tmp_path: Path) -> None:
    found = read_samples(_write(tmp_path, kernel_file([Sample(SETUP, 1, setup(1, 1))], lost(3) + lost(4))))
    assert (found.lost, len(found.events[SETUP.name])) == (7, 1)


def test_a_sample_that_is_too_short_for_its_fields_is_left_out_and_counted(tmp_path: Path) -> None:
    good, short = Sample(SETUP, 1, setup(1, 1)), Sample(SETUP, 2, setup(1, 2)[:60])
    records = sample(EVENTS, good) + sample(EVENTS, short) + sample(EVENTS, good, size=1 << 30)
    found = read_samples(_write(tmp_path, perf_data(records)))
    assert (found.unread, len(found.events[SETUP.name])) == (2, 1)


def test_without_ids_no_sample_is_told_from_others(tmp_path: Path) -> None:
    whole = bytearray(kernel_file([Sample(SETUP, 1, setup(1, 1))]))
    for number in range(len(EVENTS)):
        section = layout.SECTION.pack(layout.FILE_HEADER_SIZE + 8 * number, 8)
        at = whole.index(section)
        whole[at : at + len(section)] = layout.SECTION.pack(layout.FILE_HEADER_SIZE, 0)
    found = read_samples(_write(tmp_path, bytes(whole)))
    assert found.unread == 1 and not len(found.events[SETUP.name])


def test_a_sample_of_an_unknown_event_is_counted(tmp_path: Path) -> None:
    odd = bytearray(sample(EVENTS, Sample(SETUP, 1, setup(1, 1))))
    struct.pack_into("<Q", odd, 8, 77)
    found = read_samples(_write(tmp_path, perf_data(bytes(odd) + sample(EVENTS, Sample(COMPLETE, 1, complete(1, 1))))))
    assert (found.unread, len(found.events[SETUP.name]), len(found.events[COMPLETE.name])) == (1, 0, 1)


@pytest.mark.parametrize("where", [16 | 9999 << 16, 0xFFFF | 1 << 16, 0xFFFFFFFF])
def test_a_text_beyond_its_sample_is_empty(tmp_path: Path, where: int) -> None:
    raws = [entry(45, b"nvme0q1"), entry(45, b"nvme0q1", where=where)]
    found = read_samples(_write(tmp_path, kernel_file([Sample(ENTRY, time, raw) for time, raw in enumerate(raws)])))
    assert found.events[ENTRY.name]["name"].tolist() == [b"nvme0q1", b""]


def test_what_lies_behind_the_end_of_a_text_is_not_part_of_it(tmp_path: Path) -> None:
    found = read_samples(_write(tmp_path, kernel_file([Sample(SETUP, 1, setup(1, 1, disk=b"nvme0n1\0garbage"))])))
    assert found.events[SETUP.name]["disk"].tolist() == [b"nvme0n1"]


@pytest.mark.parametrize(
    "event",
    [
        Event("a:b", 7, (("int x", 8, 1 << 20, 0),)),
        Event("a:b", 7, tuple((f"int x{number}", 8 + 4 * number, 4, 0) for number in range(300))),
        Event("a:b", 7, tuple((f"char x{number}[64]", 8, 64, 0) for number in range(3))),
    ],
)
def test_a_format_that_cannot_be_is_an_error(tmp_path: Path, event: Event) -> None:
    with pytest.raises(InputError) as caught:
        read_samples(_write(tmp_path, kernel_file([], events=[event])))
    assert caught.value.code == "damaged-feature"


def test_an_event_that_is_described_twice_is_an_error(tmp_path: Path) -> None:
    twice = (Event("a:b", 7, (("int x", 8, 4, 0),)), Event("a:b", 8, (("u64 x", 8, 8, 0),)))
    with pytest.raises(InputError) as caught:
        read_samples(_write(tmp_path, kernel_file([], events=twice)))
    assert caught.value.code == "damaged-feature"


@pytest.mark.parametrize("text", [b"", b"name: x\n", b"ID: 5\n", b"\xff" * 100])
def test_a_format_without_name_or_number_is_an_error(text: bytes) -> None:
    with pytest.raises(ValueError):
        parse_tracing_data(memoryview(tracing_data(EVENTS, {SETUP: text})))


@pytest.mark.parametrize("piece", ["a", "a[", "a ", "1"])
def test_long_declarations_do_not_take_the_square_of_their_length(piece: str) -> None:
    line = f"\tfield:{piece * (4000 // len(piece))}\n"
    assert parse_format("x", "name: y\nID: 1\n" + 500 * line).fields == ()
    with pytest.raises(ValueError, match="characters"):
        parse_format("x", f"\tfield:{piece * 10**6};")


def test_fields_of_odd_sizes_are_bytes() -> None:
    one = parse_format(
        "a", "name: b\nID: 5\n\tfield:u8 x[3];\toffset:8;\tsize:3;\tsigned:0;\n\tfield:unsigned char y[4];\toffset:11;\tsize:5;"
    )
    assert one.dtype["x"].shape == (3,) and one.dtype["y"].shape == (5,)


@pytest.mark.parametrize("code", ["not-perf-data", "empty-file"])
def test_other_files_are_errors(tmp_path: Path, code: str) -> None:
    with pytest.raises(InputError) as caught:
        read_samples(_write(tmp_path, b"" if code == "empty-file" else b"\1\2\3\4" * 50))
    assert caught.value.code == code


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    path = _write(tmp_path, kernel_file([Sample(SETUP, 1, setup(1, 1))]))
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(InputError) as caught:
        read_samples(str(link))
    assert caught.value.code == "unreadable"


def test_a_file_that_is_cut_anywhere_gives_an_error_or_a_problem(tmp_path: Path) -> None:
    samples = [Sample(SETUP, time, setup(1, time)) for time in range(20)]
    whole = kernel_file(samples, comm(100, b"fio"))
    for size in range(0, len(whole), 13):
        path = _write(tmp_path, whole[:size])
        try:
            found = read_samples(path)
        except InputError:
            continue
        assert found.problems and len(found.events[SETUP.name]) <= 20


def test_samples_behind_a_record_without_size_are_not_read(tmp_path: Path) -> None:
    one = sample(EVENTS, Sample(SETUP, 1, setup(1, 1)))
    found = read_samples(_write(tmp_path, perf_data(one + bytes(8) + one)))
    assert [problem.code for problem in found.problems] == ["damaged-record"]
    assert len(found.events[SETUP.name]) == 1


@given(data=st.binary(max_size=200), at=st.integers(min_value=0, max_value=3000))
def test_bytes_that_were_changed_end_in_an_error_or_in_samples(tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int) -> None:
    whole = bytearray(kernel_file([Sample(SETUP, time, setup(1, time)) for time in range(5)] + [Sample(ENTRY, 3, entry(4, b"a"))]))
    at %= len(whole)
    whole[at : at + len(data)] = data[: len(whole) - at]
    try:
        found = read_samples(_write(tmp_path_factory.mktemp("changed"), bytes(whole)))
    except InputError:
        return
    assert all((np.diff(rows["at"]) >= 0).all() for rows in found.events.values())


def _records_of(data: bytes, last: int, most: int) -> list[tuple[int, int, int]]:
    """Find records slowly and literally."""
    found: list[tuple[int, int, int]] = []
    at = 0
    while len(found) < most and at + 8 <= len(data):
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8 or at + size > len(data):
            break
        found.append((at, kind, size))
        at += size
        if kind == last:
            break
    return found


@given(
    parts=st.lists(st.tuples(st.sampled_from([1, 9, 71, 1 << 31]), st.integers(0, 40)), max_size=20),
    rest=st.binary(max_size=12),
    most=st.integers(1, 25),
)
def test_records_are_found_as_the_reference_finds_them(parts: list[tuple[int, int]], rest: bytes, most: int) -> None:
    data = b"".join(struct.pack("<IHH", kind, 0, size) + bytes(max(size - 8, 0)) for kind, size in parts) + rest
    for module in (records, plain("records")):
        found: Any = np.zeros((most, 3), dtype=np.int64)
        buffer: Any = np.frombuffer(data, dtype=np.uint8)
        used = module.find_records(memoryview(buffer), 0, 71, memoryview(found))
        assert [tuple(row) for row in found[:used].tolist()] == _records_of(data, 71, most)


PACKETS = """
import socket
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(50):
    sender.sendto(b"x" * 100, receiver.getsockname())
    receiver.recv(200)
"""


@pytest.mark.slow
@pytest.mark.parametrize("chains", [(), ("-g",)])
def test_samples_of_the_perf_of_this_machine(tmp_path: Path, chains: tuple[str, ...]) -> None:
    """Also with call chains, which lie in front of the fields."""
    path = tmp_path / "net.data"
    events = ("-e", "net:netif_receive_skb", "-e", "net:net_dev_xmit")
    try:
        done = subprocess.run(
            ["perf", "record", "-q", *chains, "-a", *events, "-o", str(path), "--", sys.executable, "-c", PACKETS],
            capture_output=True, check=False,
        )  # fmt: skip
    except OSError:
        pytest.skip("there is no perf")
    if done.returncode:
        pytest.skip("perf cannot record tracepoints here")
    script = ["perf", "script", "-i", str(path), "-F", "tid,cpu,time,event,trace", "--ns"]
    text = subprocess.run(script, capture_output=True, check=True, text=True).stdout
    lines = [
        line
        for line in (re.match(r"\s*(\d+) \[(\d+)\]\s+([\d.]+):\s+(\S+): +dev=(\S+) .*len=(\d+)", one) for one in text.splitlines())
        if line
    ]
    found = read_samples(str(path))
    assert found.unread == found.lost == 0
    for name, rows in found.events.items():
        told = [
            (int(one[1]), int(one[2]), int(one[3].replace(".", "")), one[5].encode(), int(one[6])) for one in lines if one[4] == f"{name}"
        ]
        columns = ("by_tid", "on_cpu", "at", "name", "len")
        assert sorted(zip(*(rows[column].tolist() for column in columns), strict=True)) == sorted(told)
        assert len(rows) >= 50
