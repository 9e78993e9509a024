"""A machine that is collected reads as it did."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from ptttool.machine.collect.archive import Contents
from ptttool.machine.collect.recorder import RecorderSource, without_mac_addresses
from ptttool.machine.details.memory_map import memory_ranges, worth_a_name
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import read_machine
from ptttool.machine.model import Machine
from ptttool.machine.sources.archive import ArchiveSource
from ptttool.machine.sources.contract import Source
from ptttool.machine.sources.tree import TreeSource
from tests.support.machines import MACHINES, NEW, OLD


def collected(source: Source, folder: Path, *, hostname: bool = True) -> Path:
    recorder = RecorderSource(source, hostname=hostname)
    with_details(recorder, read_machine(recorder))
    path = folder / "machine.tar.gz"
    Contents(recorder, {}).write(path, force=True)
    return path


def read(source: Source) -> Machine:
    return with_details(source, read_machine(source))


def facts(machine: Machine) -> tuple[object, ...]:
    return machine.devices, machine.functions, machine.kernel, machine.hostname, machine.diagnostics, machine.memory


@pytest.mark.parametrize("name", [NEW, OLD])
def test_reads_as_the_machine_does(name: str, tmp_path: Path) -> None:
    source = TreeSource(MACHINES / name)
    path = collected(source, tmp_path)
    assert facts(read(ArchiveSource(path))) == facts(read(source))
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_archive_can_be_collected_again(tmp_path: Path) -> None:
    first = collected(TreeSource(MACHINES / NEW), tmp_path)
    (tmp_path / "again").mkdir()
    second = collected(ArchiveSource(first), tmp_path / "again")
    assert facts(read(ArchiveSource(second))) == facts(read(ArchiveSource(first)))


def test_no_host_name_unless_asked(tmp_path: Path) -> None:
    source = TreeSource(MACHINES / NEW)
    assert read(ArchiveSource(collected(source, tmp_path, hostname=False))).hostname is None
    assert read(ArchiveSource(collected(source, tmp_path))).hostname == read(source).hostname


class Refusing(TreeSource):
    """A machine with tune attributes that cannot be read, each for another reason."""

    code = errno.EACCES

    def read(self, path: str) -> str:
        if "/tune/" in path:
            raise OSError(self.code, os.strerror(self.code), path)
        return super().read(path)


@pytest.mark.parametrize("code", [errno.EACCES, errno.ETIMEDOUT])
def test_what_could_not_be_read_cannot_be_read(code: int, tmp_path: Path) -> None:
    source = Refusing(MACHINES / NEW)
    source.code = code
    found = read(ArchiveSource(collected(source, tmp_path)))
    assert facts(found) == facts(read(source))
    assert {one.value for one in found.devices[0].tune} == {None}


def test_a_manifest_is_not_believed_everything(tmp_path: Path) -> None:
    source = TreeSource(MACHINES / NEW)
    recorder = RecorderSource(source)
    read_machine(recorder)
    odd: list[object] = [{"/sys/x": "EPERM"}, {"/sys/x": 10**30}, [], None, {"/sys/x": True}]
    for refused in odd:
        path = tmp_path / "odd.tar.gz"
        contents = Contents(recorder, {})
        contents.files["/ptttool-collect.json"] = json.dumps({"refused": refused}).encode()
        contents.write(path, force=True)
        with pytest.raises(FileNotFoundError):
            ArchiveSource(path).read("/sys/x")


def test_names_that_are_mac_addresses() -> None:
    hide = without_mac_addresses(["/sys/class/net/enx0a1b2c3d4e5f", "/sys/class/net/enx0a1b2c3d4e60", "/sys/class/net/eth0"])
    assert hide("/a/enx0a1b2c3d4e5f/b") == "/a/enx-hidden0/b"
    assert hide("enx0a1b2c3d4e60") == "enx-hidden1"
    assert hide("enxffffffffffff") == "enx-hidden"
    assert hide("/sys/class/net/eth0") == "/sys/class/net/eth0"


def test_only_lines_of_the_memory_map_that_matter() -> None:
    text = "00000000-0fffffff : System RAM\n  00010000-0001ffff : Kernel code\n10000000-1fffffff : PCI Bus 0000:00\n"
    text += "  10100000-101fffff : 0000:01:00.0\n40000000-4001ffff : its@40000000\n"
    kept = worth_a_name(text)
    assert "Kernel" not in kept and "01:00.0" not in kept
    assert memory_ranges(kept) == memory_ranges(text)
    assert worth_a_name("00000000-00000000 : System RAM\n") == ""


def test_nothing_of_a_udev_database_but_what_is_needed(tmp_path: Path) -> None:
    recorder = RecorderSource(TreeSource(MACHINES / NEW))
    read_machine(recorder)
    text = Contents(recorder, {}).files["/udev.txt"].decode()
    assert {line.partition("=")[0] for line in text.splitlines() if line.startswith("E:")} <= {
        "E: ID_VENDOR_FROM_DATABASE", "E: ID_MODEL_FROM_DATABASE", "E: PCI_ID", "E: PCI_CLASS", "E: DRIVER",
    }  # fmt: skip
