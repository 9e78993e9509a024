"""Small files that ask for much: each is read within its budget, in a process with little memory and little time."""

from __future__ import annotations

import json
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ptttool.perfdata import budget
from ptttool.perfdata.attributes import AttributeTable, parse_attribute, trailer_of
from ptttool.perfdata.model import Contents, Mode
from tests.support import recordings as rec

# Reads a recording to its end, also as units of TLPs, and looks for signs of loss.
READ = """
import json, sys
from ptttool.analyses.loss import signs_of_loss
from ptttool.decoders.hisi_ptt.splitter import TlpSplitter
from ptttool.recording.opening import InputForm, open_source

with open_source(sys.argv[1], InputForm.PERF) as source:
    units = sum(1 for _ in TlpSplitter(source, raw=None, pattern=None).units(1 << 18))
    contents = source.contents
    signs = len(signs_of_loss(contents))
    codes = [problem.code for problem in contents.problems]
    limits = [problem.details.get("limit") for problem in contents.problems]
    peak = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
    records, attributes = contents.records, len(contents.attributes)
    print(json.dumps(dict(codes=codes, limits=limits, units=units, signs=signs, peak=peak, records=records, attributes=attributes)))
"""
SECONDS, MEMORY, FILES = 10, 800 << 20, 64


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def read(path: Path) -> Any:
    """What a process with limits finds in a recording."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, preexec_fn=limited)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def attribute(number: int = 0, *, kind: int = 8, ids: tuple[int, int] = (0, 0), sample_type: int = rec.SAMPLE_TYPE) -> bytes:
    """An entry of the attribute section; `ids`: offset and size of its ids."""
    return rec.attr(kind, number, 64, sample_type=sample_type) + struct.pack("<QQ", *ids)


def file(
    attributes: bytes, data: bytes = b"", *, ids: bytes = b"", features: Sequence[tuple[int, int, int]] = (), rest: bytes = b""
) -> bytes:
    """A file of 80-byte attributes. `features`: number, offset in `rest`, size."""
    at = 104 + len(ids)
    begin = at + len(attributes)
    bits = sum(1 << number for number, _, _ in features)
    header = rec.MAGIC + struct.pack("<8Q4Q", 104, 80, at, len(attributes), begin, len(data), 0, 0, bits, 0, 0, 0)
    behind = begin + len(data) + 16 * len(features)
    table = b"".join(struct.pack("<QQ", behind + offset, size) for _, offset, size in sorted(features))
    return header + ids + attributes + data + table + rest


def many_attributes() -> bytes:
    return file(b"".join(attribute(number) for number in range(budget.MAX_ATTRIBUTES + 1000)))


def shared_ids() -> bytes:
    """Every attribute has the same 524,288 ids."""
    ids = struct.pack("<524288Q", *range(1 << 40, (1 << 40) + 524288))
    return file(b"".join(attribute(number, ids=(104, len(ids))) for number in range(400)), ids=ids)


def trailers_that_differ() -> bytes:
    """An id in every record that no attribute has."""
    ids = struct.pack("<500000Q", *range(1 << 40, (1 << 40) + 500000))
    attributes = attribute(0, ids=(104, len(ids))) + attribute(1, sample_type=0x10007)
    return file(attributes, rec.record(rec.COMM, b"\1" * 48) * 20_000, ids=ids)


def expanding(records: bytes) -> Callable[[], bytes]:
    """Compressed records, each of which becomes some 60 MiB."""

    def build() -> bytes:
        import zstandard

        stream = zstandard.ZstdCompressor(level=3).compressobj()
        data = b""
        for _ in range(8):
            part = stream.compress(records * ((60 << 20) // len(records))) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
            data += rec.compressed_record(part, type=rec.COMPRESSED2)
        return file(attribute(), data)

    return build


def overlapping_features() -> bytes:
    """Many feature sections with the same bytes."""
    strings = struct.pack("<I", 0) * (2 << 20)
    return file(attribute(), rec.record(rec.FINISHED_ROUND), features=[(number, 0, len(strings)) for number in range(3, 22)], rest=strings)


def names_of_pmus() -> bytes:
    """Many PMUs, many attributes, many payloads."""
    count = 20_000
    section = struct.pack("<I", count) + b"".join(struct.pack("<II", 100_000 + number, 12) + b"hisi_ptt0_0\0" for number in range(count))
    attributes = b"".join(attribute(kind=7) for _ in range(2000))
    data = rec.auxtrace_info(6, 8) + rec.auxtrace(b"") * 3000
    return file(attributes, data, features=[(rec.PMU_MAPPINGS, 0, len(section))], rest=section)


def many_streams() -> bytes:
    """Every AUX event is of another CPU."""
    events = b"".join(rec.aux(0, 4 << 20, tail=rec.trailer(number + 1, cpu=number, id=0)) for number in range(20_000))
    return file(attribute(), rec.auxtrace_info(6, 8) + events + rec.auxtrace(rec.words_8dw(1)))


def names_that_change() -> bytes:
    """An event has another name before every payload."""
    attributes = b"".join(rec.record(rec.HEADER_ATTR, rec.attr(7, number, 64) + struct.pack("<Q", number)) for number in range(3000))
    changes = b"".join(
        rec.record(rec.EVENT_UPDATE, struct.pack("<QQ", 2, 1) + b"%08d" % number) + rec.auxtrace(rec.words_8dw(1)) for number in range(3000)
    )
    return rec.MAGIC + struct.pack("<Q", 16) + attributes + rec.auxtrace_info(6, 8) + changes


def attributes_in_a_pipe() -> bytes:
    return rec.MAGIC + struct.pack("<Q", 16) + rec.record(rec.HEADER_ATTR, rec.attr(7, 0, 64) + bytes(8 * 4000)) * 300


def payloads_in_a_row() -> bytes:
    return file(attribute(), rec.auxtrace_info(6, 8) + rec.auxtrace(rec.words_8dw(1)) * 30_000)


BOMBS: dict[str, tuple[Callable[[], bytes], list[str]]] = {
    "many attributes": (many_attributes, ["over-budget"]),
    "shared ids": (shared_ids, ["over-budget"]),
    "trailers that differ": (trailers_that_differ, []),
    "expanding, small records": (expanding(rec.record(68)), ["over-budget"]),
    "expanding, large records": (expanding(rec.record(17, bytes(65_000))), ["over-budget"]),
    "overlapping features": (overlapping_features, ["over-budget"]),
    "names of PMUs": (names_of_pmus, []),
    "many streams": (many_streams, []),
    "names that change": (names_that_change, []),
    "attributes in a pipe": (attributes_in_a_pipe, ["over-budget"]),
    "payloads in a row": (payloads_in_a_row, []),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(name: str, tmp_path: Path) -> None:
    build, codes = BOMBS[name]
    path = tmp_path / "perf.data"
    path.write_bytes(build())
    found = read(path)
    assert set(codes) <= set(found["codes"])
    assert all(limit for code, limit in zip(found["codes"], found["limits"], strict=True) if code == "over-budget")
    assert found["codes"].count("over-budget") <= 20
    if not codes:
        assert found["codes"] == []
    assert found["peak"] << 10 < 400 << 20


def test_what_is_within_the_budget_is_given(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(many_attributes())
    assert read(path)["attributes"] == budget.MAX_ATTRIBUTES
    path.write_bytes(expanding(rec.record(17, bytes(2040)))())
    found = read(path)
    assert budget.EXPANDED_FREE // 4096 < found["records"]["KSYMBOL"] < 2 * budget.EXPANDED_FREE // 2048


def test_a_folder_of_many_files_needs_few_descriptors(tmp_path: Path) -> None:
    folder = tmp_path / "perf.data"
    rec.build_directory(folder, [(0, 0, rec.words_8dw(3))])
    for number in range(1, 3 * FILES):
        (folder / f"data.{number}").write_bytes(rec.auxtrace(rec.words_8dw(1), cpu=number))
    found = read(folder)
    assert found["codes"] == []
    assert found["records"]["AUXTRACE"] == 3 * FILES


def test_a_trailer_is_found_by_its_id() -> None:
    """Attributes with different trailers: the id of a record says which one it has."""
    contents = Contents(Mode.FILE)
    table = AttributeTable(contents)
    types = (rec.SAMPLE_TYPE, rec.TID | rec.TIME | rec.ID, rec.TIME | rec.IDENTIFIER)
    for number, kind in enumerate(types):
        table.add(parse_attribute(memoryview(rec.attr(8, 0, sample_type=kind)), (10 + number, 20 + number)))
    assert table.common is None
    assert contents.revision == 3
    for number, kind in enumerate(types):
        record = bytes(16) + rec.trailer(77, id=20 + number, sample_type=kind)
        assert table.trailer(record, len(record), len(record) - 8) == trailer_of(contents.attributes[number])
    record = bytes(16) + rec.trailer(77, id=99)
    assert table.trailer(record, len(record), len(record) - 8) is None
    assert table.trailer(record, len(record), 0) is None


def test_every_budget_is_listed() -> None:
    named = {name for name, value in vars(budget).items() if name.startswith(("MAX_", "EXPANDED_")) and isinstance(value, int)}
    assert named == {each.name for each in budget.BUDGETS}
    assert all(getattr(budget, each.name) == each.limit and each.unit and each.meaning.endswith(".") for each in budget.BUDGETS)
