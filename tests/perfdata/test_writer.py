"""What the writer lays out, the reader, the tests' own walk and perf read back."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptttool.perfdata import writer
from tests.perfdata.test_reader import read
from tests.perfdata.test_recordings import report
from tests.reference import hisi_ptt as reference
from tests.support.recordings import words_8dw

EVENT = writer.Event("hisi_ptt0_2/filter=0x80001,type=7,direction=2,format=1/", 12, 0x1_0728_0001, (3, 5))
PAYLOADS = [(3, 0, 4096), (3, 4096, 64), (5, 0, 32)]
DATA = words_8dw(131)


def parts() -> Iterator[bytes | int]:
    yield writer.beginning(EVENT, 6, (12,))
    yield writer.comm(EVENT, "a-name-that-is-too-long-for-it", 1000)
    for number, (cpu, offset, size) in enumerate(PAYLOADS):
        yield writer.aux(EVENT, offset, size, 2000 + number, cpu)
        yield writer.auxtrace(EVENT, offset, size, cpu, number)
        yield size
    yield writer.exit_of(EVENT, 3000)


def written(piece: int = 1000) -> bytes:
    file = io.BytesIO()
    features = {
        "hostname": writer.string("somewhere"),
        "cmdline": writer.strings(["perf", "record"]),
        "event_desc": writer.event_desc(EVENT),
    }
    features["pmu_mappings"] = writer.pmu_mappings({1: "software", 12: "hisi_ptt0_2"})
    view = memoryview(DATA)
    pieces = (view[start : start + piece] for start in itertools.count(0, piece))
    writer.write(file, EVENT, features, parts, writer.supply_of(pieces))
    return file.getvalue()


@pytest.mark.parametrize("piece", [32, 1000, 4096, 1 << 20])
def test_portions_do_not_depend_on_pieces(piece: int) -> None:
    assert written(piece) == written()


def test_the_reader_finds_everything(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(written())
    held, contents = read(path)
    starts = itertools.accumulate((size for *_, size in PAYLOADS), initial=0)
    assert held == [(cpu, offset, DATA[start : start + size]) for (cpu, offset, size), start in zip(PAYLOADS, starts, strict=False)]
    assert contents.problems == []
    assert contents.unknown == {}
    assert (contents.auxtrace_type, contents.auxtrace_priv) == (6, (12,))
    assert [(event.cpu, event.offset, event.size, event.time) for event in contents.aux_events] == [
        (*payload, 2000 + number) for number, payload in enumerate(PAYLOADS)
    ]
    assert (contents.first_time, contents.last_time) == (1000, 3000)
    (attribute,) = contents.attributes
    assert (attribute.type, attribute.config, attribute.name, attribute.ids) == (EVENT.pmu_type, EVENT.config, EVENT.name, (1, 2))
    assert contents.features["hostname"] == "somewhere"
    assert contents.features["cmdline"] == ["perf", "record"]
    assert contents.features["pmu_mappings"] == {1: "software", 12: "hisi_ptt0_2"}


def test_perf_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(written())
    text = report(path)
    assert text.count("HISI PTT data: size ") == len(PAYLOADS)
    for cpu, offset, size in PAYLOADS:
        assert f"PERF_RECORD_AUX offset: {offset:#x} size: {size:#x} flags: 0".replace(" 0x0 ", " 0 ") in text
        assert f"PERF_RECORD_AUXTRACE size: {size:#x}  offset: {offset:#x}".replace(" 0x0", " 0") in text
        assert f"cpu: {cpu}" in text
    assert "PERF_RECORD_COMM: a-name-that-is-:1" in text


def test_a_walk_that_shares_nothing_finds_the_payloads() -> None:
    configs, payloads = reference.walk(written())
    assert configs == {EVENT.config}
    assert b"".join(payload for *_, payload in payloads) == DATA
