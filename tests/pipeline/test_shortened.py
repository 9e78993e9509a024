"""A recording becomes shorter while it is read: one clean error, nothing left behind, and what was read is given."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.errors import InputError
from ptttool.files.local import LocalFile
from tests.support import recordings as rec

RECORDS = rec.words_8dw(4096) * 96  # 12 MiB


PACKETS = b"\x84" * (4 << 20)  # P-headers
ETMV2 = ("--protocol", "etmv2", "-p", "data_addr=no", "-p", "data_value=no", "-p", "contextid_bytes=0")


@dataclass(frozen=True)
class Case:
    """A kind of input. `make` writes it to a path and returns the file that becomes shorter, and the size that it then has."""

    make: Callable[[Path], tuple[Path, int]]
    options: tuple[str, ...] = ()
    prefix: str = ""


def perfdata(mode: str = "file", type: int = 6, cpus: int = 1) -> Callable[[Path], tuple[Path, int]]:
    def make(path: Path) -> tuple[Path, int]:
        trace = RECORDS if type == 6 else PACKETS
        path.write_bytes(rec.build_perfdata([(cpu, 0, trace) for cpu in range(cpus)], mode=mode, auxtrace_type=type))
        return path, 5000

    return make


def raw(path: Path) -> tuple[Path, int]:
    path.write_bytes(RECORDS)
    return path, 1000


def raw_packets(path: Path) -> tuple[Path, int]:
    path.write_bytes(PACKETS)
    return path, 1000


def folder(path: Path) -> tuple[Path, int]:
    rec.build_directory(path, [(0, 0, RECORDS[:4096]), (1, 0, RECORDS)])
    return path / "data.1", 1000


CASES = {
    "perf.data": Case(perfdata()),
    "perf.data, 2 jobs": Case(perfdata(), ("--jobs", "2")),
    "pipe mode in a file": Case(perfdata("pipe")),
    "folder": Case(folder),
    "folder, 2 jobs": Case(folder, ("--jobs", "2")),
    "remote": Case(perfdata(), prefix="file://"),
    "dump": Case(raw, ("--input", "8dw")),
    "dump, 2 jobs": Case(raw, ("--input", "8dw", "--jobs", "2")),
    "text of perf": Case(perfdata(), ("--to", "perf")),
    "packets": Case(perfdata(type=99), ETMV2),
    "packets, 2 jobs": Case(perfdata(type=99, cpus=2), (*ETMV2, "--jobs", "2")),
    "dump of packets": Case(raw_packets, (*ETMV2, "--input", "raw")),
}


def command(case: Case, path: Path, *options: str) -> list[str]:
    to = () if "--to" in case.options else ("--to", "jsonl")
    return ["decode", f"{case.prefix}{path}", *case.options, *to, *options]


@pytest.mark.parametrize("name", CASES)
def test_a_process_that_decodes(name: str, tmp_path: Path) -> None:
    """The process waits for a reader of its output. Meanwhile the file becomes shorter."""
    case = CASES[name]
    path = tmp_path / "perf.data"
    shrinking, size = case.make(path)
    process = subprocess.Popen(
        [sys.executable, "-m", "ptttool", *command(case, path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, bufsize=0
    )
    assert process.stdout is not None
    begin = process.stdout.read(1)
    os.truncate(shrinking, size)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 6, errors.decode()
    (error,) = [line for line in errors.decode().splitlines() if "error:" in line]
    assert str(shrinking) in error
    assert "offset 0x" in error
    assert "Traceback" not in errors.decode()
    assert (begin + rest).count(b"\n") > 100
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("options", [(), ("--jobs", "2")])
@pytest.mark.parametrize("output", ["out.parquet", "out.csv", "out/"])
def test_a_file_is_written_whole_or_not_at_all(
    output: str, options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file becomes shorter behind the first bytes that are read of the trace."""
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata([(0, 0, RECORDS)]))
    read = LocalFile.read

    def then_truncate(self: LocalFile, offset: int, size: int) -> bytes:
        data = read(self, offset, size)
        if size == 64 << 10:  # the sample that determines the layout of a payload
            os.truncate(path, 8 << 20)
        return data

    monkeypatch.setattr(LocalFile, "read", then_truncate)
    assert main(["decode", str(path), "-o", str(tmp_path / output), *options]) == 6
    assert list(tmp_path.iterdir()) == [path]


def test_local_file(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(bytes(range(100)))
    file = LocalFile(os.open(path, os.O_RDONLY), str(path))
    assert (file.size, file.path) == (100, str(path))
    assert file.read(90, 50) == bytes(range(90, 100))
    assert file.read(200, 5) == b""
    with path.open("ab") as more:
        more.write(b"more")
    assert file.read(90, 50) == bytes(range(90, 100))
    into = memoryview(bytearray(10))
    file.close()
    file.read_into(5, into)
    assert bytes(into) == bytes(range(5, 15))
    os.truncate(path, 12)
    for read in (lambda: file.read(5, 10), lambda: file.read_into(5, into)):
        with pytest.raises(InputError) as caught:
            read()
        assert (caught.value.code, caught.value.offset, caught.value.path) == ("truncated", 12, str(path))
    path.rename(tmp_path / "old")
    path.write_bytes(bytes(100))
    with pytest.raises(InputError) as caught:
        file.read(0, 5)
    assert caught.value.code == "replaced"


def test_an_open_file_stays_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "some.bin"
    path.write_bytes(bytes(100))
    file = LocalFile(os.open(path, os.O_RDONLY), str(path))
    path.unlink()
    path.write_bytes(b"\1" * 100)
    assert file.read(0, 100) == bytes(100)
    file.close()
