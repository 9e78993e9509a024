"""AUX data as they are read: the same bytes from a file, a pipe and remote storage."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ptttool.errors import InputError
from ptttool.recording.opening import InputForm, Source, open_source
from tests.support.recordings import build_perfdata

PAYLOADS = [bytes(range(256)) * (1 << 12), os.urandom(77_777), b""]
CHUNKS = [(0, 0, PAYLOADS[0]), (3, 4096, PAYLOADS[1]), (0, len(PAYLOADS[0]), PAYLOADS[2])]


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """Makes a FIFO through which bytes come."""
    threads = []

    def make(content: bytes) -> Path:
        path = tmp_path / "fifo"
        os.mkfifo(path)
        threads.append(threading.Thread(target=path.write_bytes, args=(content,)))
        threads[-1].start()
        return path

    yield make
    for thread in threads:
        thread.join()


def payloads(source: Source) -> list[bytes]:
    """All bytes, by payload."""
    found: dict[int, bytes] = {}
    for chunk in source.chunks():
        found[chunk.number] = found.get(chunk.number, b"") + bytes(chunk.read())
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("prefix", ["", "file://"])
@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_chunks_hold_all_bytes(prefix: str, mode: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata(CHUNKS, mode=mode))
    address = f"{prefix}{path}"
    with open_source(address) as source:
        assert payloads(source) == PAYLOADS
        assert source.path == address
        assert source.size == source.position == path.stat().st_size or mode == "file"
        assert [payload.held for payload in source.contents.aux_payloads] == [len(payload) for payload in PAYLOADS]
        assert source.contents.problems == []


def test_chunks_of_a_pipe_hold_all_bytes(fifo: Callable[[bytes], Path]) -> None:
    with open_source(fifo(build_perfdata(CHUNKS)), InputForm.PERF) as source:
        assert source.size is None
        assert payloads(source) == PAYLOADS


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_raw_dump_is_one_payload(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(PAYLOADS[1])
    with open_source(f"{prefix}{path}") as source:
        (chunk,) = source.chunks()
        assert (chunk.size, chunk.payload_size, chunk.file_offset) == (len(PAYLOADS[1]), len(PAYLOADS[1]), 0)
        assert chunk.path == f"{prefix}{path}"
        assert bytes(chunk.read()) == PAYLOADS[1]
        assert source.position == source.size == len(PAYLOADS[1]) or source.position == 0


def test_a_raw_dump_from_a_pipe_comes_in_pieces(fifo: Callable[[bytes], Path]) -> None:
    content = PAYLOADS[0] * 5
    with open_source(fifo(content)) as source:
        chunks = list(source.chunks())
    assert [chunk.start for chunk in chunks] == [0, 4 << 20]
    assert b"".join(chunk.read() for chunk in chunks) == content
    assert {chunk.path for chunk in chunks} == {""}


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_parts_of_a_chunk(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, PAYLOADS[1])]))
    with open_source(f"{prefix}{path}") as source:
        for chunk in source.chunks():
            whole = chunk.read()
            assert whole.readonly
            assert chunk.read(100, 50) == PAYLOADS[1][100:150]
            assert chunk.read(70_000) == PAYLOADS[1][70_000:]
            assert chunk.read(70_000, 1 << 40) == PAYLOADS[1][70_000:]
            assert len(chunk.read(1 << 40, 5)) == 0
            assert len(chunk.read(-5, 5)) == 5
            assert path.read_bytes()[chunk.file_offset :][: chunk.size] == PAYLOADS[1]
            assert not chunk.in_memory
            assert (chunk.file is None) == bool(prefix)


def test_chunks_are_read_after_the_walk_has_gone_on(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata(CHUNKS))
    with open_source(f"file://{path}") as source:
        chunks = list(source.chunks())
        assert [bytes(chunk.read()) for chunk in reversed(chunks)] == PAYLOADS[::-1]


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_file_that_is_shortened(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(build_perfdata([(0, 0, PAYLOADS[0])]))
    with open_source(f"{prefix}{path}") as source:
        for chunk in source.chunks():
            os.truncate(path, chunk.file_offset + 4096)
            assert chunk.read(0, 4096) == PAYLOADS[0][:4096]
            with pytest.raises(InputError) as caught:
                chunk.read()
            assert (caught.value.code, caught.value.offset) == ("truncated", chunk.file_offset + 4096)
            break


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_payload_that_is_cut_off(prefix: str, tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    whole = build_perfdata([(0, 0, PAYLOADS[0])], interrupted=True)
    path.write_bytes(whole[: whole.index(PAYLOADS[0]) + 5000])
    with open_source(f"{prefix}{path}") as source:
        for chunk in source.chunks():
            assert (chunk.size, chunk.missing) == (5000, len(PAYLOADS[0]) - 5000)
            assert chunk.read() == PAYLOADS[0][:5000]
        assert [problem.code for problem in source.contents.problems] == ["truncated"]
