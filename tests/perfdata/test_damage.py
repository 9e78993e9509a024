"""Whatever is done to a recording: an error of ours or a note of the problem, never another exception, never much memory."""

from __future__ import annotations

import os
import random
import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptttool.analyses.loss import signs_of_loss
from ptttool.errors import PtttoolError
from ptttool.perfdata.model import Contents, Mode
from ptttool.perfdata.problems import offset_of
from ptttool.perfdata.readers.base import Reader
from ptttool.perfdata.readers.files import FileReader
from ptttool.perfdata.readers.opening import open_perfdata
from ptttool.perfdata.readers.stream import StreamReader
from tests.support import captures
from tests.support import recordings as rec

CHUNKS = [(0, 0, rec.words_8dw(3)), (1, 0, rec.words_8dw(2))]
FEATURES = {
    rec.HOSTNAME: rec.string("kunpeng"),
    rec.EVENT_DESC: rec.event_desc([(rec.attr(11, rec.DEFAULT_CONFIG), "hisi_ptt0_0//", [1, 2])]),
    rec.PMU_MAPPINGS: struct.pack("<II", 1, 11) + rec.string("hisi_ptt0_0"),
}
BASES = {
    "file": rec.build_perfdata(CHUNKS, features=FEATURES),
    "pipe": rec.build_perfdata(CHUNKS, mode="pipe", features=FEATURES),
    "compressed": rec.build_perfdata(CHUNKS, compressed=rec.COMPRESSED, features={}),
    "compressed2 in a pipe": rec.build_perfdata(CHUNKS, compressed=rec.COMPRESSED2, mode="pipe", features={}),
    "interrupted": rec.build_perfdata(CHUNKS, interrupted=True),
}


def open_file(content: bytes) -> Reader:
    """As a file, in memory."""
    descriptor = os.memfd_create("perf.data")
    try:
        os.write(descriptor, content)
        return open_perfdata(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)


def open_pipe(content: bytes) -> Reader:
    """As what comes out of a pipe, whose 64 KiB hold all of it."""
    out, into = os.pipe()
    os.write(into, content)
    os.close(into)
    return StreamReader("pipe", out)


def open_on_request(content: bytes) -> Reader:
    """As a file on remote storage."""
    descriptor = os.memfd_create("perf.data")
    try:
        os.write(descriptor, content)
        return FileReader("file", Mode.FILE, rec.FileOnRequest(f"/proc/self/fd/{descriptor}"))
    finally:
        os.close(descriptor)


def survive(content: bytes) -> list[tuple[list[bytes], Contents]]:
    """Read it in all ways; check what always holds. Return what was read, where something could be."""
    outcomes = []
    for opener in (open_file, open_pipe, open_on_request):
        try:
            reader = opener(content)
        except PtttoolError as error:
            assert error.exit_code == 6
            assert error.message
            assert "\n" not in error.message
            continue
        payloads: list[bytes] = []
        with reader:
            for chunk in reader.chunks():
                assert len(chunk.read()) + chunk.missing == chunk.payload_size
                assert chunk.read() == content[chunk.file_offset :][: len(chunk.read())]
                payloads.append(bytes(chunk.read()))
            contents = reader.contents
        assert sum(len(payload) for payload in payloads) <= len(content)
        assert len(contents.problems) <= 101
        for problem in contents.problems:
            offset = offset_of(problem)
            assert problem.message
            assert offset is None or 0 <= offset < 1 << 64
        for finding in signs_of_loss(contents):
            assert finding.text
        outcomes.append((payloads, contents))
    return outcomes


@pytest.mark.parametrize("base", BASES)
def test_cut_anywhere(base: str) -> None:
    """What was before the cut stays as it was."""
    whole = BASES[base]
    full = [payload for _, _, payload in CHUNKS]
    for size in range(len(whole)):
        for payloads, contents in survive(whole[:size]):
            assert all(there.startswith(part) for part, there in zip(payloads, full, strict=False))
            if base == "file":
                assert contents.problems
            if contents.records.get("FINISHED_ROUND"):
                assert payloads == full


@pytest.mark.parametrize("base", BASES)
def test_numbers_that_lie(base: str) -> None:
    """Every number of the file, whatever it means, by every number that breaks programs."""
    whole = BASES[base]
    until = min(len(whole), 900)
    for at in range(0, until - 8, 4):
        for layout, values in (
            ("<Q", (0, 1 << 31, 1 << 63, (1 << 64) - 1)),
            ("<I", (1, 7, 0xFFFF_0000, 0x0008_0047)),
            ("<H", (0, 8, 0xFFFF)),
        ):
            for value in values:
                content = bytearray(whole)
                struct.pack_into(layout, content, at, value)
                survive(bytes(content))


@given(st.sampled_from(sorted(BASES)), st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=12))
@settings(deadline=2000, derandomize=True)
def test_bytes_that_flip(base: str, flips: list[tuple[int, int]]) -> None:
    content = bytearray(BASES[base])
    for at, value in flips:
        content[at % len(content)] = value
    survive(bytes(content))


@pytest.mark.parametrize("name", ["6.12/x-pipe", "6.1/x-compress-z", "6.12/s-8dw-ports-dir3", "6.12/x-sigkill"])
def test_real_recordings_damaged(name: str) -> None:
    """Cut, flipped and shuffled; only the part without payload, so that it fits a pipe."""
    generator = random.Random(name)
    whole = captures.content(name)[:48_000]
    for round in range(120):
        content = bytearray(whole[: generator.randrange(len(whole))]) if round % 2 else bytearray(whole)
        for _ in range(generator.randrange(1, 40)):
            content[generator.randrange(len(content))] = generator.randrange(256)
        if round % 5 == 0:
            at, to, size = (generator.randrange(len(content)) for _ in range(3))
            content[to : to + size] = content[at : at + size]
        survive(bytes(content[:60_000]))


def test_random_records() -> None:
    """Headers that are well-formed around bodies that are noise."""
    generator = random.Random(6)
    kinds = [*range(1, 23), *range(64, 85), 200]
    for round in range(300):
        data = b"".join(
            rec.record(kind, generator.randbytes(8 * generator.randrange(12)))
            for kind in generator.choices(kinds, k=generator.randrange(60))
        )
        build = rec.build_file if round % 2 else rec.build_pipe
        survive(build(data, [(rec.attr(11, 1), [1])]))


def test_little_memory(tmp_path: Path) -> None:
    """Records, attributes, types and compression meant to fill the memory do not."""
    import zstandard

    bomb = zstandard.ZstdCompressor(level=1).compress(rec.record(68, bytes(65520)) * 1100)[:60_000]
    many = b"".join(rec.record(1 << 16 | number) for number in range(100_000))
    attributes = rec.build_pipe(b"", [(rec.attr(11, 1), range(4000))] * 60)
    attribute = [(rec.attr(11, 1), [1])]
    hostile = {
        "bomb": rec.build_file(rec.compressed_record(bomb) * 8, attribute),
        "types": rec.build_file(many, attribute),
        "ids": attributes,
        "index": rec.build_file(rec.id_index((1, 1) for _ in range(2000)) * 40, attribute),
    }
    for name, content in hostile.items():
        path = tmp_path / name
        path.write_bytes(content)
        tracemalloc.start()
        with open_perfdata(path) as reader:
            for _ in reader.chunks():
                pass
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 40 << 20, name
