"""The code that touched registers: what is claimed is what was simulated, and nothing is claimed where order does not tell."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptttool
from ptttool.analyses.joined.registers import LEAST, places_of
from ptttool.analyses.mmio.document import KernelCode, Mmio
from ptttool.cli.main import main
from ptttool.generate import tlps
from ptttool.perfdata.tracepoints.samples import read_samples
from ptttool.perfdata.tracepoints.symbols import KernelMap, Symbols
from tests.support.records import eight, packed
from tests.support.tracepoints import READ, WRITE, Sample, access, kernel_file, lost, mapped

BASE, MODULE = 0xFFFF_8000_8000_0000, 0xFFFF_8000_7A00_0000
PAGE, OTHER = 0xFFFF_8000_8123_4000, 0xFFFF_8000_8999_9000
BAR = 0x8000_1000
MARK = (1 << 64) - 128
RING, POLL, TIMER = MODULE + 0x1A0, MODULE + 0x2B0, BASE + 0x5000
OUTER, OUTMOST = BASE + 0x1234, BASE + 0x2000
KALLSYMS = f"""{BASE:016x} T _text
{BASE + 0x1000:016x} T blk_mq_dispatch
{BASE + 0x2000:016x} t kthread
{BASE + 0x5000:016x} T timer_tick
{BASE + 0x6000:016x} D some_data
{MODULE + 0x100:016x} t nvme_write_sq_db\t[nvme]
{MODULE + 0x200:016x} t nvme_poll\t[nvme]
"""


class Access(NamedTuple):
    """An access: page of the kernel, offset, whether it writes, bits, the code, and the CPU."""

    page: int
    offset: int
    writes: bool
    width: int
    caller: int
    cpu: int = 0


def run_of(seed: int, total: int = 200) -> list[Access]:
    """Doorbells of two queues and a status that is polled; and a device that is not behind the port."""
    random = Random(seed)
    kinds = [
        Access(PAGE, 0x8, True, 32, RING, 1), Access(PAGE, 0x10, True, 32, RING, 2), Access(PAGE, 0x10, True, 32, POLL, 2),
        Access(PAGE, 0x20, True, 64, POLL), Access(PAGE, 0x1C, False, 32, POLL), Access(OTHER, 0x8, True, 32, TIMER),
        Access(OTHER, 0x10, False, 32, TIMER),
    ]  # fmt: skip
    return [random.choice(kinds) for _ in range(total)]


def kernel_bytes(run: list[Access], before: bytes = b"", texts: tuple[str, ...] = ()) -> bytes:
    places = mapped(BASE, 0x100_0000, BASE, b"[kernel.kallsyms]_text") + mapped(MODULE, 0x8000, 0, b"/lib/modules/6.12/nvme.ko.xz")
    samples = [
        Sample(
            WRITE if one.writes else READ, 10**9 + 1000 * number,
            access(WRITE if one.writes else READ, one.caller, OUTER, one.page + one.offset, one.width), one.cpu,
            chain=(MARK, BASE + 0x77, one.caller + 4, OUTER, OUTMOST, MARK - 384, 0x1234),
        )
        for number, one in enumerate(run)
    ]  # fmt: skip
    return kernel_file(samples, places + before, (READ, WRITE), texts)


def trace_bytes(run: list[Access]) -> bytes:
    records = []
    for number, one in enumerate(run):
        tlp = tlps.request(tlps.MWR if one.writes else tlps.MRD, 0, number % 32, BAR + one.offset, one.width // 8)
        records.append(eight(tlp.dw0, tlp.dw1, tlp.dw2, tlp.dw3, time=250 * number + 1))
    return packed(records)


def found(folder: Path, run: list[Access], first: int = 0, last: int | None = None, **given: Any) -> Mmio:
    """The result for a trace of a part of what the kernel saw."""
    (folder / "raw.bin").write_bytes(trace_bytes([one for one in run[first:last] if one.page == PAGE]))
    (folder / "raw.bin.kernel").write_bytes(kernel_bytes(run, **given))
    options = {"input": "8dw", "downstream": "1-3"}
    with ptttool.open(folder / "raw.bin", "hisi-ptt", parameters=options, form="raw") as recording:
        result: Mmio = recording.analyze("mmio", kernel=folder / "raw.bin.kernel")
    return result


def code_of(result: Mmio) -> KernelCode:
    assert result.code is not None
    return result.code


@given(seed=st.integers(0, 1 << 32), first=st.integers(0, 40), last=st.integers(160, 200))
def test_uses_are_those_of_the_run(seed: int, first: int, last: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = run_of(seed)
    code = code_of(found(tmp_path_factory.mktemp("run"), run, first, last))
    mine = [one for one in run if one.page == PAGE]
    traced = [one for one in run[first:last] if one.page == PAGE]
    assert code.notes[-1:] == [] or code.notes[-1].code == "symbols-unknown"
    assert (code.requests, code.joined, code.seen) == (len(traced), len(traced), len(run))
    expected = {key: (count, Counter(map(_key, traced))[key]) for key, count in Counter(map(_key, mine)).items()}
    for one in code.uses:
        key = (int(one.address, 16) - BAR, one.operation, int(one.code_address, 16))
        seen, requests = expected.pop(key)
        assert one.seen == seen and one.requests in (requests, None)
        assert [int(each.split()[0], 16) for each in one.callers] == [OUTER, OUTMOST]
    assert not any(requests for _, requests in expected.values())


def _key(one: Access) -> tuple[int, str, int]:
    return one.offset, "write" if one.writes else "read", one.caller


@given(seed=st.integers(0, 1 << 32))
def test_places_as_a_plain_search_finds_them(seed: int) -> None:
    random = Random(seed)
    told = [random.choice("aab") for _ in range(random.randint(0, 40))]
    seen = told[(start := random.randint(0, len(told))) : start + random.randint(1, 40)]
    for at in range(0, len(seen) - 1, random.randint(3, 9)):  # two CPUs change places
        seen[at], seen[at + 1] = seen[at + 1], seen[at]
    # Of so short a run no access is far from its place.
    plain = [at for at in range(len(told) - len(seen) + 1) if sorted(told[at : at + len(seen)]) == sorted(seen)]
    kept = [at for at in plain if _is_near(seen, told[at : at + len(seen)])] if len(set(seen)) > 1 else plain if len(plain) == 1 else []
    codes = [np.array([ord(one) for one in each], dtype=np.uint64) for each in (seen, told)]
    assert places_of(*codes).tolist() == (kept if seen else [])


def _is_near(seen: list[str], told: list[str]) -> bool:
    places = [[[at for at, one in enumerate(each) if one == kind] for kind in "ab"] for each in (seen, told)]
    moved = [abs(a - b) > 8 for left, right in zip(*places, strict=True) for a, b in zip(left, right, strict=True)]
    return bool(sum(moved) * 1000 <= len(seen))


def test_nothing_is_claimed_without_a_certain_page(tmp_path: Path) -> None:
    run = run_of(1)
    mine = [one for one in run if one.page == PAGE]
    twin = [one._replace(page=OTHER + 0x1000) for one in mine]
    cases = {
        "twin": ([each for pair in zip(mine, twin, strict=True) for each in pair], 0, None),
        "few": (run, 0, LEAST // 2),
        "one register": ([mine[0]] * 100, 10, 80),
    }
    for name, (accesses, first, last) in cases.items():
        code = code_of(found(tmp_path, accesses, first, last))
        assert (code.uses, code.joined, [note.code for note in code.notes]) == ([], 0, ["no-page"]), name
    # The kernel did not see what the link shows: a program rang the doorbell, or another order.
    for seen in (mine[:50] + mine[51:], mine[:20] + mine[100:] + mine[20:100]):
        (tmp_path / "k").write_bytes(kernel_bytes(seen))
        (tmp_path / "raw.bin").write_bytes(trace_bytes(mine))
        with ptttool.open(tmp_path / "raw.bin", "hisi-ptt", parameters={"input": "8dw", "downstream": "1-3"}, form="raw") as recording:
            assert code_of(recording.analyze("mmio", kernel=tmp_path / "k")).uses == []
    code = code_of(found(tmp_path, run, before=lost(3)))
    assert (code.uses, [note.code for note in code.notes]) == ([], ["kernel-samples-lost"])


def test_symbols_of_the_same_boot_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = (os.uname().nodename, os.uname().release)
    kallsyms, modules = tmp_path / "kallsyms", tmp_path / "modules"
    monkeypatch.setattr("ptttool.pipeline.analyzing.code.KALLSYMS", kallsyms)
    monkeypatch.setattr("ptttool.pipeline.analyzing.code.MODULES", modules)
    kallsyms.write_text(KALLSYMS, encoding="utf-8")
    modules.write_text(f"nvme 65536 2 - Live {MODULE:#x}\n", encoding="utf-8")
    code = code_of(found(tmp_path, run_of(2), texts=here))
    assert code.resolved and code.notes == []
    assert {one.code for one in code.uses} == {"nvme_write_sq_db+0xa0 [nvme]", "nvme_poll+0xb0 [nvme]"}
    assert {tuple(one.callers) for one in code.uses} == {("blk_mq_dispatch+0x234", "kthread+0x0")}
    raw = {f"{place:#x} [nvme]" for place in (RING, POLL)}
    # The module was loaded anew; another boot; another machine; no rights; no such file.
    modules.write_text(f"nvme 65536 2 - Live {MODULE + 0x1000:#x}\n", encoding="utf-8")
    code = code_of(found(tmp_path, run_of(2), texts=here))
    assert code.resolved and {one.code for one in code.uses} == raw
    for text, texts in (
        (KALLSYMS.replace(f"{BASE:016x}", f"{BASE + 0x10000:016x}"), here), (KALLSYMS, ("other", here[1])), (KALLSYMS, ()),
        ("\n".join(f"{0:016x} {line[17:]}" for line in KALLSYMS.splitlines()), here), (None, here),
    ):  # fmt: skip
        kallsyms.unlink(missing_ok=True)
        if text is not None:
            kallsyms.write_text(text, encoding="utf-8")
        code = code_of(found(tmp_path, run_of(2), texts=texts))
        assert not code.resolved and {one.code for one in code.uses} == raw and [note.code for note in code.notes] == ["symbols-unknown"]


def test_names_of_places() -> None:
    symbols = Symbols([KernelMap(0x1000, 0x100, 0, "/x/nvme-core.ko.xz"), KernelMap(0x2000, 0x100, 0, "/x/\x1b.ko")])
    assert [symbols.text(address) for address in (0xFFF, 0x1000, 0x10FF, 0x1100, 0x2000)] == [
        "0xfff", "0x1000 [nvme_core]", "0x10ff [nvme_core]", "0x1100", "0x2000",
    ]  # fmt: skip


def test_frames_are_those_of_the_kernel(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_bytes(kernel_bytes(run_of(3)))
    for depth, expected in ((2, [BASE + 0x77]), (6, [BASE + 0x77, OUTER, OUTMOST, 0, 0])):
        frames = read_samples(str(path), None, depth).events[WRITE.name]["frames"]
        assert frames.shape[1] == depth
        assert [each for number, each in enumerate(frames[0].tolist()) if number != 1] == expected


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found(tmp_path, run_of(4))
    options = ["--input", "8dw", "--downstream", "1-3", "--kernel", str(tmp_path / "raw.bin.kernel")]
    assert main(["analyze", "mmio", str(tmp_path / "raw.bin"), *options, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert alone["code"]["uses"][0]["code"].startswith("0xffff")
    assert main(["analyze", "mmio,io", str(tmp_path / "raw.bin"), *options, "--json", "--jobs", "2"]) == 0
    both = json.loads(capsys.readouterr().out)["recordings"][0]["results"]
    assert both["mmio"]["code"] == alone["code"] and both["io"]["kernel"]["joined"] is False
    assert main(["analyze", "mmio", str(tmp_path / "raw.bin"), *options]) == 0
    assert f"{RING:#x}" in capsys.readouterr().out
    assert main(["analyze", "mmio", str(tmp_path / "raw.bin"), *options, "--by", "queue"]) == 2
    assert main(["analyze", "latency", str(tmp_path / "raw.bin"), *options]) == 2
