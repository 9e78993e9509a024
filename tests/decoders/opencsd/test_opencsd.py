"""Decoding by libopencsd: made trace with a program, and recordings of boards against OpenCSD's own lister."""

from __future__ import annotations

import gc
import gzip
import os
import signal
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptttool.decoders.elements.arrays import Elements, Strings
from ptttool.decoders.elements.model import CUSTOM, KIND_NAMES, REASON_CODES, Element
from ptttool.decoders.opencsd import library as opencsd_library
from ptttool.decoders.opencsd import worker as opencsd_worker
from ptttool.decoders.opencsd import workers as opencsd_workers
from ptttool.decoders.opencsd.decoder import OpencsdDecoder
from ptttool.decoders.opencsd.elements import elements_of
from ptttool.decoders.opencsd.library import LibraryElements, library
from ptttool.decoders.opencsd.sources import UNITS, Source, architecture_of
from ptttool.decoders.parameters import Given
from ptttool.decoders.stack import stack_of
from ptttool.errors import InputError, MissingPackageError, PtttoolError, UsageError, WorkersError
from tests import ROOT
from tests.decoders.coresight.frames import FSYNC, frames
from tests.decoders.opencsd import etm4
from tests.decoders.opencsd.text import indexes_of_the_library, listed, text_of
from tests.decoders.streams import Stream, elements

RECORDINGS = ROOT.parent / "shared" / "vectors" / "opencsd"
recordings = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings of others do not come with the project")
PROGRAM = etm4.program(etm4.NOP, etm4.branch(8), etm4.NOP, etm4.branch_if_equal(-12), etm4.RET)
BEGIN = etm4.SYNC + etm4.INFO + etm4.ON + etm4.address(0x1000)


def decoded(data: bytes, cuts: tuple[int, ...] = (), **parameters: str) -> list[Element]:
    return elements("opencsd", Stream(data, {**etm4.PARAMETERS, "framing": "none", **parameters}), cuts)


@pytest.fixture
def image(tmp_path: Path) -> str:
    path = tmp_path / "program.bin"
    path.write_bytes(PROGRAM)
    return f"{path}@0x1000"


def test_instructions_of_a_program(image: str) -> None:
    found = decoded(BEGIN + etm4.EXECUTED + etm4.NOT_EXECUTED + etm4.EXECUTED + etm4.address_alone(0x1008) + etm4.EXECUTED, memory=image)
    ranges = [each for each in found if each.kind == "instr_range"]
    assert [dict(each.fields) for each in ranges] == [
        {
            "isa": "a64", "st_addr": start, "en_addr": end, "num_instr_range": (end - start) // 4, "last_i_type": type,
            "last_i_subtype": subtype, "last_instr_exec": executed, "last_instr_sz": 4, "last_instr_cond": conditional,
        }
        for start, end, type, subtype, executed, conditional in [
            (0x1000, 0x1008, "br", "none", True, False), (0x100C, 0x1010, "br", "none", False, True),
            (0x1010, 0x1014, "br_indirect", "v8_ret", True, False), (0x1008, 0x1010, "br", "none", True, True),
        ]
    ]  # fmt: skip
    # The third atom's bytes go on with the address, which has no element of its own.
    assert [(each.index, each.size) for each in ranges] == [(26, 1), (27, 1), (28, 10), (38, 1)]
    assert ranges[2].raw == etm4.EXECUTED + etm4.address_alone(0x1008)


def test_what_is_said_without_a_program() -> None:
    data = BEGIN + etm4.timestamp(0x123456789ABCDEF0) + etm4.exception(3, 0x2000) + etm4.address_alone(0x3000) + etm4.RETURN
    found = decoded(data + etm4.EXECUTED)
    shown = [(each.kind, each.timestamp, dict(each.fields)) for each in found]
    assert shown[:3] == [
        ("no_sync", None, {"reason": "init"}),
        ("trace_on", None, {"reason": "normal"}),
        ("pe_context", None, {"security_level": "nonsecure", "exception_level": 1, "bits64": True, "isa": "a64"}),
    ]
    assert ("timestamp", 0x123456789ABCDEF0, {}) in shown
    assert ("exception", None, {"exception_number": 3, "en_addr": 0x2000, "excep_ret_addr_br_tgt": False}) in shown
    assert ("addr_nacc", None, {"st_addr": 0x3000}) in shown
    assert shown[-1] == ("eo_trace", None, {"reason": "eot"})
    assert found[-1].index == len(data) + 1


def test_overflow_is_a_reason() -> None:
    found = decoded(BEGIN + etm4.EXECUTED + etm4.OVERFLOW + BEGIN)
    reasons = [(each.kind, each.fields["reason"]) for each in found if "reason" in each.fields]
    assert reasons[:2] == [("no_sync", "init"), ("trace_on", "normal")]
    assert "overflow" in [reason for _, reason in reasons[2:]]


def test_every_source_has_a_decoder() -> None:
    """Two sources in frames; one that nothing describes is counted."""
    both = frames([(0x10, BEGIN[:20]), (0x11, BEGIN), (0x10, BEGIN[20:] + etm4.EXECUTED), (0x11, etm4.EXECUTED)])
    found = elements("opencsd", Stream(both, etm4.PARAMETERS))
    for channel in (0x10, 0x11):
        kinds = [each.kind for each in found if each.channel == channel and each.protocol == "opencsd"]
        assert kinds == ["no_sync", "trace_on", "pe_context", "addr_nacc", "eo_trace"]
    assert sum(each.size for each in found) == len(both)


def test_perf_begins_anew() -> None:
    """Four full synchronisations: all decoders are as new."""
    piece = frames([(0x10, BEGIN + etm4.EXECUTED)])
    found = elements("opencsd", Stream(piece + 4 * FSYNC + piece, etm4.PARAMETERS))
    reasons = [(each.index, each.fields["reason"]) for each in found if each.kind == "no_sync"]
    assert (len(piece), "reset") in reasons
    assert len([each for each in found if each.kind == "addr_nacc"]) == 2
    assert [each.kind for each in found if each.channel == 0x10].count("eo_trace") == 1  # the trace goes on there


@settings(max_examples=20)
@given(st.integers(0, (1 << 32) + 40_000))
def test_offsets_of_more_than_32_bits(start: int) -> None:
    """The library counts with 32 bits."""
    registers = {name: int(value, 0) for name, value in etm4.REGISTERS.items()}
    with Source("unit", "etm4", {**registers, "TRCTRACEIDR": 1}).tree(library()) as tree:
        found, used, gave_up = tree.feed(start, np.frombuffer(BEGIN + etm4.EXECUTED, dtype=np.uint8))
        rest = tree.end(start + used)
    assert not gave_up
    assert [*found.offsets.tolist(), *rest.offsets.tolist()][:4] == [start, start + 15, start + 16, start + 26]


def opencsd_decoder() -> OpencsdDecoder:
    stack = stack_of("opencsd", {name: Given(text, "-p") for name, text in {**etm4.PARAMETERS, "framing": "none"}.items()})
    decoder = stack.decoder()
    assert isinstance(decoder, OpencsdDecoder)
    return decoder


def killed(by: signal.Signals) -> tuple[OpencsdDecoder, bytes, Elements]:
    """A decoder that has decoded something, and its process was ended."""
    decoder = opencsd_decoder()
    piece = BEGIN + etm4.EXECUTED * (4096 - len(BEGIN))  # after the first there is no address any more
    batch = decoder.feed(piece, offset=0)
    assert decoder._tree is not None
    assert decoder._tree._process is not None
    process = decoder._tree._process._process
    process.send_signal(by)
    process.wait()
    return decoder, piece, batch


def test_the_library_may_crash() -> None:
    """Its process is gone: what it was given is skipped, and another goes on."""
    decoder, piece, batch = killed(signal.SIGSEGV)
    batches = [batch, decoder.feed(piece, offset=4096), decoder.feed(piece, offset=8192), decoder.finish()]
    found = [element for batch in batches for element in batch.objects()]
    assert [(each.index, each.size) for each in found if each.fields.get("reason") == "bad_packet"] == [(4096, 4096)]
    assert [each.index for each in found if each.kind == "addr_nacc"] == [26, 8192 + 26]
    assert sum(each.size for each in found) == 3 * 4096


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_was_ended_from_outside(by: signal.Signals) -> None:
    """The trace is not to blame for it."""
    decoder, piece, _ = killed(by)
    with pytest.raises(WorkersError, match=by.name):
        decoder.feed(piece, offset=4096)


def test_a_memory_image_that_becomes_shorter(image: str) -> None:
    """It is mapped in the library's process, which ends: the trace is not to blame for that."""
    stack = stack_of("opencsd", {name: Given(text, "-p") for name, text in {**etm4.PARAMETERS, "framing": "none", "memory": image}.items()})
    decoder = stack.decoder()
    decoder.feed(BEGIN, offset=0)
    path = image.partition("@")[0]
    os.truncate(path, 0)
    decoder.feed(etm4.EXECUTED, offset=len(BEGIN))
    with pytest.raises(InputError) as caught:
        decoder.finish()
    assert (caught.value.code, caught.value.path, caught.value.offset) == ("truncated", path, 0)


def test_processes_are_used_again() -> None:
    """By the next tree, once one is closed: at the end of a stream, or early."""
    workers = library().workers
    decoded(BEGIN)
    idle = len(workers)
    assert idle
    decoder = opencsd_decoder()
    decoder.feed(BEGIN, offset=0)
    assert len(workers) == idle - 1
    decoder.close()
    assert len(workers) == idle
    decoded(BEGIN)
    assert len(workers) == idle


def test_a_decoder_that_is_dropped_leaves_no_process() -> None:
    decoder = opencsd_decoder()
    assert decoder._tree is not None
    assert decoder._tree._process is not None
    process = decoder._tree._process._process
    del decoder
    gc.collect()
    assert process.returncode == -signal.SIGKILL


def test_a_forked_process_has_its_own() -> None:
    """What waits in the parent is not shared: both would read the answers."""
    decoded(BEGIN)
    workers = library().workers
    idle = len(workers)
    child = os.fork()
    if child == 0:
        good = workers.take() is not None and len(workers) == 0
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(workers) == idle
    decoded(BEGIN)


def test_numbers_are_the_library_s_own() -> None:
    """Kinds and reasons are asked for by name: all that it knows are known here."""
    found = library()
    named = [KIND_NAMES[code] for code in found.kinds[: found.number("custom") + 1]]
    assert named[:3] == ["unknown", "no_sync", "trace_on"]
    assert named[-1] == "custom"
    assert len(set(named)) == len(named) >= 18
    assert set(found.kinds[len(named) :].tolist()) == {CUSTOM}
    assert found.reasons[:3].tolist() == [REASON_CODES[name] for name in ("unknown", "init", "reset")]
    assert REASON_CODES["eot"] in found.reasons.tolist()
    assert found.version >= (1, 0, 0)


def crafted(kind: str, **values: int) -> Element:
    """An element as the library lays it out, with every other byte full of rubbish."""
    found = library()
    element = np.frombuffer(b"\xff" * found.size, dtype=found.dtype).copy()
    for name, value in {"kind": found.number(kind), "flags": 0, "context": 0, **values}.items():
        element[name] = value
    at = np.zeros(1, dtype=np.int64)
    batch = elements_of("opencsd", found, LibraryElements(at, element), at.astype(np.uint64), at, Strings.none(1))
    return next(batch.objects())


CASES: list[tuple[str, dict[str, int], dict[str, object]]] = [
    ("trace_on", {"union": 1}, {"reason": "overflow"}),
    ("trace_on", {"union": 2, "flags": 16, "cycle_count": 7}, {"reason": "debug_exit", "cycle_count": 7}),
    ("pe_context", {"security_level": 0, "isa": 0}, {"security_level": "secure", "isa": "a32", "bits64": False}),
    (
        "pe_context",
        {"security_level": 3, "isa": 2, "context": 15, "exception_level": 2, "context_id": 5, "vmid": 6},
        {"security_level": "realm", "isa": "a64", "bits64": True, "exception_level": 2, "context_id": 5, "vmid": 6},
    ),
    (
        "i_range_nopath",
        {"isa": 1, "st_addr": 16, "en_addr": 32, "union": 4},
        {"isa": "t32", "st_addr": 16, "en_addr": 32, "num_instr_range": 4},
    ),
    ("addr_nacc", {"st_addr": 1 << 63}, {"st_addr": 1 << 63}),
    ("addr_unknown", {}, {}),
    ("addr_unknown", {"flags": 16, "cycle_count": 9}, {"cycle_count": 9}),
    ("exception", {"union": 14}, {"exception_number": 14}),
    ("exception", {"flags": 128}, {"excep_data_marker": True}),
    (
        "exception",
        {"union": 1, "flags": 64 | 2048, "en_addr": 4},
        {"exception_number": 1, "en_addr": 4, "excep_ret_addr_br_tgt": True},
    ),
    ("exception_ret", {}, {}),
    ("timestamp", {"timestamp": 11}, {}),
    ("cycle_count", {"flags": 16, "cycle_count": 3}, {"cycle_count": 3}),
    ("event", {"union_u16": 1}, {"ev_type": "trigger"}),
    ("event", {"union_u16": 2, "union_u16_1": 5}, {"ev_type": "numbered", "ev_number": 5}),
    ("sync_marker", {"union": 0, "union_1": 8}, {"marker_type": "timestamp", "marker_value": 8}),
    ("memtrans", {"union": 2}, {"mem_trans": "commit"}),
    ("custom", {}, {}),
]


@pytest.mark.parametrize(("kind", "values", "fields"), CASES, ids=[f"{number}-{case[0]}" for number, case in enumerate(CASES)])
def test_only_the_valid_fields(kind: str, values: Mapping[str, int], fields: Mapping[str, object]) -> None:
    found = crafted(kind, **values)
    assert (found.kind, dict(found.fields)) == (kind, dict(fields))
    assert found.timestamp == (11 if kind == "timestamp" else None)


def test_software_trace() -> None:
    flags = 8 | 2 << 8 | 1 << 16 | 1 << 23
    values = {"union_u16": 3, "union_u16_1": 4, "union_1": flags, "flags": 512, "timestamp": 5}
    found = crafted("swtrace", **values)
    assert found.timestamp == 5
    assert dict(found.fields) == {
        "master_id": 3, "swt_channel": 4, "payload_bits": 8, "payload_packets": 2, "marker": True, "trigger": False, "frequency": False,
        "master_error": False, "global_error": False,
    }  # fmt: skip
    lost = crafted("swtrace", union_1=1 << 20 | 1 << 23)
    assert "master_id" not in lost.fields
    assert lost.fields["global_error"] is True


@pytest.mark.parametrize(
    ("core", "wanted"),
    [
        ("Cortex-A53", (0x800, 3)), ("Cortex-A15", (0x700, 3)), ("Cortex-R5", (0x700, 2)), ("Cortex-M0+", (0x700, 1)),
        ("Cortex-M33", (0x800, 1)), ("ARMv7-M", (0x700, 1)), ("ARMv8-A", (0x800, 3)), ("ARMv8.3-A", (0x803, 3)),
        ("ARMv9.2-A", (0x864, 3)), ("ARM-AA64", (0x864, 3)), ("", (0x864, 3)), ("Cortex-A720", (0x864, 3)),
    ],
)  # fmt: skip
def test_architectures(core: str, wanted: tuple[int, int]) -> None:
    assert architecture_of(core) == wanted


def test_descriptions_that_are_missing() -> None:
    with pytest.raises(UsageError) as caught:
        elements("opencsd", Stream(b""))
    assert caught.value.code == "missing-parameter"
    with pytest.raises(UsageError, match="TRCIDR0, TRCIDR2, TRCCONFIGR"):
        elements("opencsd", Stream(b"", {"unit": "etm4"}))
    with pytest.raises(UsageError, match=r"program\.bin") as caught:
        decoded(BEGIN, memory="program.bin")
    assert caught.value.code == "bad-parameter"
    assert elements("opencsd", Stream(b"", {"unit": "stm", "STMTCSR": "0"})) == []
    assert {unit.trace_id[0] for unit in UNITS.values()} <= {name for unit in UNITS.values() for name in unit.registers}


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    opencsd_library.library.cache_clear()
    monkeypatch.setattr(opencsd_worker, "FILE", "libopencsd_that_is_not_there.so")
    with pytest.raises(MissingPackageError) as caught:
        decoded(BEGIN)
    assert "libopencsd1" in (caught.value.hint or "")
    monkeypatch.undo()
    assert decoded(BEGIN)


@recordings
@pytest.mark.parametrize("cuts", [(), (1, 4097, 40000), tuple(range(0, 65536, 1000))], ids=["whole", "some", "many"])
def test_a_recording_of_six_cores(cuts: tuple[int, ...]) -> None:
    """Every element of OpenCSD's listing, in its order, with its text and at its place."""
    folder = RECORDINGS / "juno_r1_1"
    data = (folder / "cstrace.bin").read_bytes()
    found = [each for each in elements("opencsd", Stream(data, {"snapshot": str(folder)}), cuts) if each.protocol == "opencsd"]
    with gzip.open(RECORDINGS / "juno_r1_1.ppl.gz", "rt") as file:
        wanted = list(listed(file))
    indexes = indexes_of_the_library(data)
    ours: dict[int | None, list[tuple[int | None, str]]] = defaultdict(list)
    theirs: dict[int | None, list[tuple[int | None, str]]] = defaultdict(list)
    for each in found:
        ours[each.channel].append((None if each.kind == "eo_trace" else indexes[each.index], text_of(each)))
    for place, channel, text in wanted:
        theirs[channel].append((None if text.startswith("EO_TRACE") else place, text))
    assert theirs.pop(0x14) == [(None, "EO_TRACE([end-of-trace])")]  # a source without a single byte
    if library().version < (1, 4):  # as the one that made the listing
        assert Counter(each.kind for each in found) == {
            "instr_range": 6733, "addr_nacc": 8442, "exception": 51, "exception_ret": 54, "pe_context": 83, "trace_on": 32, "no_sync": 5,
            "eo_trace": 5,
        }  # fmt: skip
        assert ours == theirs
        return
    # Later ones leave out a few addresses that they cannot read for a second time.
    assert ours.keys() == theirs.keys()
    for source, lines in theirs.items():
        rest = iter(ours[source])
        following = next(rest, None)
        left_out = []
        for line in lines:
            if line == following:
                following = next(rest, None)
            else:
                left_out.append(line[1])
        assert following is None
        assert len(left_out) <= 3
        assert all(line.startswith("ADDR_NACC") for line in left_out)


@recordings
def test_a_recording_of_software_trace() -> None:
    folder = RECORDINGS / "juno_r1_1"
    found = elements("opencsd", Stream((folder / "cstraceitm.bin").read_bytes(), {"snapshot": str(folder)}))
    software = [each for each in found if each.kind == "swtrace"]
    assert {each.channel for each in software} == {0x20}
    assert len(software) == 41
    assert text_of(software[-1]) == "SWTRACE((Ma:0x41;Ch:0x0f)0xbaadf00d;+Mrk)"


@recordings
def test_a_recording_of_itm() -> None:
    """ITM trace without frames; releases that have no decoder for it say so."""
    folder = RECORDINGS / "itm_only_raw"
    stream = Stream((folder / "itm_testdata.bin").read_bytes(), {"snapshot": str(folder), "framing": "none"})
    if library().number("itmtrace") < 0:
        with pytest.raises(PtttoolError, match=r"ITM_0: libopencsd .* ITM"):
            elements("opencsd", stream)
    else:
        found = elements("opencsd", stream)
        assert sum(each.size for each in found) == len(stream.data)
        assert "itmtrace" in {each.kind for each in found}


@recordings
def test_frames_that_are_none() -> None:
    with pytest.raises(UsageError, match="without frames"):
        elements("opencsd", Stream(b"", {"snapshot": str(RECORDINGS / "itm_only_raw")}))
    with pytest.raises(UsageError, match="of one source") as caught:
        elements("opencsd", Stream(b"", {"snapshot": str(RECORDINGS / "juno_r1_1"), "framing": "none"}))
    assert "ETM_5 (0x15)" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("memory", "named"),
    [
        ("{0}/none.bin@0", "none.bin: memory image"),
        ("{0}/empty.bin@0x1000", r"empty.bin: .* 0 bytes"),
        ("{0}/code.bin@0x1001", "code.bin: .*0x1001"),
        ("{0}/code.bin@0xfffffffffffffff8", "code.bin: .*0xfffffffffffffff8"),
        ("/dev/zero@0", "/dev/zero: memory image"),
    ],
)
def test_images_that_cannot_be(tmp_path: Path, memory: str, named: str) -> None:
    (tmp_path / "empty.bin").touch()
    (tmp_path / "code.bin").write_bytes(bytes(16))
    given = {**etm4.PARAMETERS, "framing": "none", "memory": memory.format(tmp_path)}
    with pytest.raises(InputError, match=named):
        stack_of("opencsd", {name: Given(text, "-p") for name, text in given.items()}).decoder()


@pytest.mark.parametrize("memory", ["code.bin", "code.bin@", "code.bin@x", "@0x1000", "code.bin@0x1_0000_0000_0000_0000", "code.bin@-2"])
def test_images_without_an_address(memory: str) -> None:
    given = {**etm4.PARAMETERS, "framing": "none", "memory": memory}
    with pytest.raises(UsageError, match="memory=") as caught:
        stack_of("opencsd", {name: Given(text, "-p") for name, text in given.items()}).decoder()
    assert caught.value.code == "bad-parameter"


@pytest.mark.parametrize("core", ["nonsense", "ARMv0", "ARMv999-A", "Cortex-X"])
def test_unknown_cores(core: str) -> None:
    given = {**etm4.PARAMETERS, "framing": "none", "core": core}
    with pytest.raises(UsageError, match="core="):
        stack_of("opencsd", {name: Given(text, "-p") for name, text in given.items()}).decoder()


def test_processes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencsd_workers, "MAX_WORKERS", 2)
    pool = opencsd_workers.WorkerPool()
    first, second = pool.take(), pool.take()
    with pytest.raises(WorkersError) as error:
        pool.take()
    assert error.value.code == "over-budget"
    first.stop()
    third = pool.take()
    pool.give_back(second)
    assert pool.take() is second
    second.stop()
    third.stop()
