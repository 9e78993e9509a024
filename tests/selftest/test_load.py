"""Reads of a disk, and what they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.errors import AccessError, DeviceError
from ptttool.machine.model import PciFunction
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import RecordedSource
from ptttool.pci import PciAddress
from ptttool.selftest import disk_reads
from ptttool.selftest.document import Verdict
from ptttool.selftest.load import PAIRS, Done, disk_of, done_of, judge_commands, judge_cost
from tests import ROOT


def test_reads_past_the_page_cache(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(64 << 10))
    output = tmp_path / "out.json"
    try:
        disk_reads.main(str(disk), "4096", "40", "10", str(output))
        done = done_of(output)
    except AccessError as error:  # a file system in memory has no O_DIRECT before Linux 6.6
        assert error.code == "disk-unreadable"
        return
    # Behind the end it begins anew.
    assert (done.reads, done.bytes) == (40, 40 * 4096)


def test_a_disk_that_cannot_be_read(tmp_path: Path) -> None:
    output = tmp_path / "out.json"
    disk_reads.main(str(tmp_path / "none"), "4096", "40", "10", str(output))
    with pytest.raises(AccessError) as error:
        done_of(output)
    assert error.value.code == "disk-unreadable"
    with pytest.raises(AccessError):
        done_of(tmp_path / "nothing")


def test_a_name_that_is_no_such_disk() -> None:
    links = {"/sys/class/block/null": "/sys/devices/pci0000:00/0000:00:10.0/0000:01:00.0/nvme/nvme0/null"}
    files = {f"{links['/sys/class/block/null']}/{name}": text for name, text in (("size", b"8\n"), ("dev", b"259:0\n"))}
    source = RecordedSource(MemoryFiles(files, links), "a machine in memory")
    function = PciFunction(address=PciAddress.parse("0000:01:00.0"), vendor=None, device=None, class_code=None, name="drive")
    with pytest.raises(DeviceError) as error:
        disk_of(source, function)
    assert error.value.code == "no-disk"


@pytest.mark.parametrize(
    ("slower", "verdict"),
    [(0.5, Verdict.REFUTED), (1.0, Verdict.NOT_TESTED)],
)
def test_the_cost_of_tracing(slower: float, verdict: Verdict) -> None:
    pairs = [(Done(100, 1000 + number, 1.0), Done(100, int(slower * 1000) + number, 1.0)) for number in range(PAIRS)]
    judged = judge_cost(pairs)
    assert judged.verdict is verdict
    assert judged.details["pairs"] == PAIRS
    assert judge_cost(pairs[:-1]).verdict is Verdict.NOT_TESTED


@pytest.mark.parametrize(("reads", "verdict"), [(20000, Verdict.CONFIRMED), (20001, Verdict.REFUTED), (19999, Verdict.NOT_TESTED)])
def test_commands_and_reads(reads: int, verdict: Verdict) -> None:
    path = ROOT / "fixtures" / "captures" / "workloads" / "w-randread-4dw.data.xz"
    judged = judge_commands(("read-4k", path, Done(reads, reads * 4096, 1.0)))
    assert (judged.verdict, judged.details["commands"]) == (verdict, 20000)
