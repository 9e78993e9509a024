"""Perf's text of PTT data against what real perfs print, their faults of before June 2026 mended, and against a slow formatter.

Real are the recorded texts of perf 6.12 in ``fixtures/captures/perf-text``, and the perf that is installed.
"""

from __future__ import annotations

import lzma
import os
import re
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptttool.decoders.hisi_ptt.layout import Layout
from ptttool.decoders.hisi_ptt.payloads import Payload
from ptttool.exporters.perf import PAGE_SIZE, STEP, text
from ptttool.perfdata.readers import stream
from tests.support import captures, records
from tests.support import recordings as rec
from tests.support.rows import Read

RECORDED = captures.FOLDER / "perf-text"
LINE = re.compile(r"(\.  [0-9a-f]{8}: )((?:[0-9a-f]{2} ){4})( {32})(.+)")
DUMPED = re.compile(r"(?:\. \.\.\. HISI PTT data: |\.  [0-9a-f]{8}: ).*\n")
FIELDS = (("Format", 2), ("Type", 5), ("T9", 1), ("T8", 1), ("TH", 1), ("SO", 1), ("Length", 10), ("Time", 11))
LABELS_8DW = {1: "Prefix", 2: "Header DW0", 3: "Header DW1", 4: "Header DW2", 5: "Header DW3", 7: "Time"}


def fields(word: int, *, lowest_first: bool = False) -> str:
    """The label of a 4DW record's first word; ``lowest_first``: as a perf before June 2026 has it."""
    found, place = [], 0 if lowest_first else 32
    for name, width in FIELDS:
        place -= 0 if lowest_first else width
        found.append(f"{name} {word >> place & ((1 << width) - 1):x}")
        place += width if lowest_first else 0
    return " ".join(found)


def slow(payload: bytes, *, promised: int | None = None, start: int = 0, eight_dw: bool | None = None) -> str:
    """One payload's text, word by word. ``start``: of a piece that is no payload's first; it has no headline."""
    if eight_dw is None:
        eight_dw = len(payload) >= 4 and struct.unpack_from("<I", payload)[0] >> 11 == (1 << 21) - 1
    size = 32 if eight_dw else 16
    promised = len(payload) if promised is None else promised
    lines = [] if start else [f". ... HISI PTT data: size {promised - promised % size} bytes"]
    for at in range(0, len(payload) - len(payload) % size, 4):
        (word,) = struct.unpack_from("<I", payload, at)
        number = at % size // 4
        if eight_dw and number not in LABELS_8DW:
            continue
        label = LABELS_8DW[number] if eight_dw else f"Header DW{number}" if number else fields(word)
        digits = " ".join(f"{byte:02x}" for byte in word.to_bytes(4, "big"))
        lines.append(f".  {start + at & 0xFFFFFFFF:08x}: {digits} " + 10 * "   " + "  " + label)
    return "".join(line + "\n" for line in lines)


def mended(dumped: str) -> str:
    """What a fixed perf would have printed; the faults must be just the two that are known."""
    lines = []
    for line in dumped.splitlines():
        found = LINE.fullmatch(line)
        if found is None:
            assert line.startswith(". ... HISI PTT data: size "), line
            lines.append(line)
            continue
        offset, digits, gap, label = found.groups()
        word = int.from_bytes(bytes.fromhex(digits), "little")
        if label.startswith("Format"):
            assert label == fields(word, lowest_first=True)
            label = fields(word)
        lines.append(offset + " ".join(reversed(digits.split())) + " " + gap + label)
    return "".join(line + "\n" for line in lines)


def text_of(path: Path | str, *, raw_format: str | None = None) -> str:
    with Read(path, raw_format=raw_format) as trace:
        return b"".join(text(trace.payloads())).decode("ascii")


def payload_of(data: bytes, *, start: int = 0, eight_dw: bool = False) -> Payload:
    words = np.frombuffer(data, dtype="<u4").reshape(-1, 8 if eight_dw else 4)
    return Payload(number=0, payload_size=start + len(data), start=start, layout=Layout(eight_dw), dws=words)


def of_payload(data: bytes, *, start: int = 0, eight_dw: bool = False) -> str:
    return b"".join(text([payload_of(data, start=start, eight_dw=eight_dw)])).decode("ascii")


def noise(size: int, *, eight_dw: bool, seed: int = 1) -> bytes:
    """Random words; in 8DW records behind their check word."""
    words = np.random.default_rng(seed).integers(0, 1 << 32, size // 4, dtype=np.uint32)
    if eight_dw:
        words[::8] |= 0xFFFFF800
    else:
        words[0] &= 0x7FFFFFFF
    return words.astype("<u4").tobytes()


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.txt.xz")), ids=lambda path: path.name.removesuffix(".txt.xz"))
def test_recorded_texts_of_perf(path: Path) -> None:
    recorded = lzma.decompress(path.read_bytes()).decode("ascii")
    name = "6.12/" + path.name.removesuffix(".txt.xz")
    assert recorded.count("HISI PTT data") == len(captures.shapes()[name]["auxtrace"])
    assert text_of(captures.FOLDER / f"{name}.data") == mended(recorded)


def test_the_recorded_texts_have_both_layouts_and_several_payloads() -> None:
    texts = [lzma.decompress(path.read_bytes()).decode("ascii") for path in RECORDED.glob("*.txt.xz")]
    assert {"Format" in recorded for recorded in texts} == {True, False}
    assert {recorded.count("HISI PTT data") for recorded in texts} == {1, 2}


def perf_says(path: Path) -> str:
    """The AUX dumps in the report of the perf that is installed."""
    done = subprocess.run(["perf", "report", "-D", "-i", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return "".join(DUMPED.findall(done.stdout))


def is_fixed(dumped: str) -> bool:
    """Whether this perf has the fix of June 2026: it shows the check word's neighbour, 01 02 03 04 in the file, as a number."""
    return "04 03 02 01" in dumped


EIGHT, FOUR = noise(32 * 700, eight_dw=True), noise(16 * 1500, eight_dw=False)
LIVE = {
    "8dw": [(0, 0, rec.words_8dw(300))],
    "4dw": [(0, 0, rec.words_4dw(300))],
    "8dw-noise": [(0, 0, EIGHT)],
    "4dw-noise": [(0, 0, FOUR)],
    "more-than-a-page": [(0, 0, noise(3 * PAGE_SIZE + 96, eight_dw=True)), (1, 0, noise(2 * PAGE_SIZE + 48, eight_dw=False))],
    "payload-by-payload": [(0, 0, EIGHT), (1, 0, FOUR[:320]), (0, len(EIGHT), EIGHT[:64]), (2, 0, FOUR)],
    "zeros-first": [(0, 0, bytes(64) + EIGHT[:320]), (0, 384, EIGHT[:64] + bytes(96) + EIGHT[64:128])],
    "tails": [(0, 0, EIGHT[:328]), (1, 0, FOUR[:168]), (2, 0, EIGHT[:40]), (3, 0, FOUR[:24])],
    "less-than-a-record": [(0, 0, EIGHT[:24]), (1, 0, FOUR[:8]), (2, 0, EIGHT[:32])],
}


@pytest.mark.parametrize("name", LIVE)
def test_the_installed_perf(name: str, tmp_path: Path) -> None:
    path, probe = tmp_path / "perf.data", tmp_path / "probe.data"
    path.write_bytes(rec.build_perfdata(LIVE[name]))
    probe.write_bytes(rec.build_perfdata([(0, 0, records.packed([records.eight(0x60000001, 0, 0, 0, prefix=0x04030201)]))]))
    dumped = perf_says(path)
    assert dumped.count("HISI PTT data") == len(LIVE[name])
    ours = text_of(path)
    assert ours == (dumped if is_fixed(perf_says(probe)) else mended(dumped))
    assert ours == "".join(slow(payload) for *_, payload in LIVE[name])


def test_one_record_of_each_layout() -> None:
    gap = 33 * " "
    assert of_payload(records.packed([records.eight(0x60000001, 0x01001E0F, 4, 0x02810040, time=0x2A)]), eight_dw=True) == (
        ". ... HISI PTT data: size 32 bytes\n"
        f".  00000004: 00 00 00 00{gap}Prefix\n"
        f".  00000008: 60 00 00 01{gap}Header DW0\n"
        f".  0000000c: 01 00 1e 0f{gap}Header DW1\n"
        f".  00000010: 00 00 00 04{gap}Header DW2\n"
        f".  00000014: 02 81 00 40{gap}Header DW3\n"
        f".  0000001c: 00 00 00 2a{gap}Time\n"
    )
    assert of_payload(records.packed([records.four(0x4A, 0x1234, 0x01000040, 0, length=0x20, time=0x7FF, t8=1, so=1)])) == (
        ". ... HISI PTT data: size 16 bytes\n"
        f".  00000000: 94 a1 07 ff{gap}Format 2 Type a T9 0 T8 1 TH 0 SO 1 Length 20 Time 7ff\n"
        f".  00000004: 00 00 12 34{gap}Header DW1\n"
        f".  00000008: 01 00 00 40{gap}Header DW2\n"
        f".  0000000c: 00 00 00 00{gap}Header DW3\n"
    )


def test_4dw_numbers_of_every_width() -> None:
    edges = (0, 1, 0xF, 0x10, 0xFF, 0x100, 0x3FF)
    data = records.packed(
        [
            (upper << 21 | length << 11 | time, 0, 0, 0)
            for upper in range(1 << 11)
            for length, time in zip(edges, (0x7FF, *edges[:0:-1]) if upper % 2 else edges, strict=True)
        ]
    )
    assert of_payload(data) == slow(data, eight_dw=False)


@given(st.lists(records.records_8dw(), max_size=40), st.lists(records.records_4dw(), max_size=40))
def test_records_of_every_kind(eights: list[records.Words], fours: list[records.Words]) -> None:
    for some, eight_dw in ((eights, True), (fours, False)):
        data = records.packed(some)
        assert of_payload(data, eight_dw=eight_dw) == slow(data, eight_dw=eight_dw)


@pytest.mark.parametrize("eight_dw", [True, False], ids=["8dw", "4dw"])
def test_pages_are_wiped(eight_dw: bool) -> None:
    """Nothing of a payload shows through in the next one, wherever either ends."""
    size = 32 if eight_dw else 16
    pieces = [noise(size * count, eight_dw=eight_dw, seed=count) for count in (STEP + 5, 3, 2 * STEP - 1, 1, STEP)]
    joined = b"".join(text(payload_of(piece, eight_dw=eight_dw) for piece in pieces)).decode("ascii")
    assert joined == "".join(slow(piece, eight_dw=eight_dw) for piece in pieces)


@pytest.mark.parametrize("eight_dw", [True, False], ids=["8dw", "4dw"])
@pytest.mark.parametrize("start", [4096, PAGE_SIZE - 4096, 0x0FFF_F000, 0xABCD_F000, 0xFFFF_F000])
def test_offsets_far_into_a_payload(eight_dw: bool, start: int) -> None:
    """Perf's offset has 32 bits: it begins again at 4 GiB."""
    data = noise(2 * 4096 + PAGE_SIZE, eight_dw=eight_dw)
    assert of_payload(data, start=start, eight_dw=eight_dw) == slow(data, start=start, eight_dw=eight_dw)


def test_pieces_are_small_whole_lines() -> None:
    for eight_dw in (True, False):
        pieces = list(text([payload_of(noise(1 << 20, eight_dw=eight_dw), eight_dw=eight_dw)]))
        assert max(map(len, pieces)) < 1 << 20
        assert all(piece.endswith(b"\n") and b"\0" not in piece for piece in pieces)


def test_no_payload_no_text(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata([]))
    assert text_of(path) == ""


def test_an_empty_payload_has_a_headline(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(rec.build_perfdata([(0, 0, b""), (1, 0, FOUR[:16])]))
    assert text_of(path) == slow(b"") + slow(FOUR[:16])


@pytest.mark.parametrize("data", [EIGHT, FOUR], ids=["8dw", "4dw"])
def test_a_payload_that_is_cut_short(data: bytes, tmp_path: Path) -> None:
    """The headline says what was promised; the lines are what there is."""
    path = tmp_path / "perf.data"
    records_of_perf = rec.auxtrace_info(6, 11) + rec.auxtrace(data)
    whole = rec.build_file(records_of_perf, [(rec.attr(11, rec.DEFAULT_CONFIG), [1])], data_size=0)
    path.write_bytes(whole[:-1000])
    assert text_of(path) == slow(data[:-1000], promised=len(data))


@pytest.fixture
def piped(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """A FIFO that somebody writes these bytes into."""
    writers = []

    def through(content: bytes) -> Path:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        writers.append(threading.Thread(target=fifo.write_bytes, args=(content,)))
        writers[-1].start()
        return fifo

    yield through
    for writer in writers:
        writer.join()


@pytest.mark.parametrize("mode", ["file", "pipe"])
def test_pieces_through_a_pipe_equal_the_whole(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piped: Callable[[bytes], Path]
) -> None:
    monkeypatch.setattr(stream, "PIECE", 3 * 4096)
    chunks = LIVE["more-than-a-page"] + LIVE["payload-by-payload"]
    whole = tmp_path / "perf.data"
    whole.write_bytes(rec.build_perfdata(chunks))
    fifo = piped(rec.build_perfdata(chunks, mode=mode))
    with Read(fifo) as trace:
        starts = []

        def noted() -> Iterator[Payload]:
            for payload in trace.payloads():
                starts.append(payload.start)
                yield payload

        through_pipe = b"".join(text(noted())).decode("ascii")
    assert sum(start > 0 for start in starts) > 20
    assert through_pipe == text_of(whole) == "".join(slow(payload) for *_, payload in chunks)


@pytest.mark.parametrize(("raw_format", "data"), [("8dw", EIGHT), ("4dw", FOUR)])
def test_a_raw_dump(raw_format: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "aux.bin"
    path.write_bytes(data + b"\1\2\3")
    assert text_of(path, raw_format=raw_format) == slow(data + b"\1\2\3")
