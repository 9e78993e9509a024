"""Machines in tar archives: as they come, damaged, and made to do harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ptttool.errors import InputError
from ptttool.machine.discovery import open_source, read_machine
from ptttool.machine.model import Machine
from ptttool.machine.sources import archive, expanded
from ptttool.machine.sources.archive import ArchiveSource
from ptttool.machine.sources.tree import TreeSource
from tests.support.machines import MACHINES, NEW

PACK: dict[str, Callable[[bytes], bytes]] = {
    "tar": bytes,
    "tar.gz": gzip.compress,
    "tar.xz": lzma.compress,
    "tar.bz2": bz2.compress,
    "tar.zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def tar_of(names: dict[str, str]) -> bytes:
    """Pack parts of a recorded machine under other names."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for inside, name in names.items():
            tar.add(MACHINES / NEW / inside, name)
    return data.getvalue()


def written(folder: Path, data: bytes, name: str = "machine.tar") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def whole() -> bytes:
    return tar_of({"sys": "./sys", "proc": "./proc", "udev.txt": "./udev.txt"})


@pytest.fixture(scope="module")
def machine() -> Machine:
    return read_machine(TreeSource(MACHINES / NEW))


def facts(found: Machine) -> tuple[object, ...]:
    return found.devices, found.functions, found.kernel, found.hostname, found.diagnostics


@pytest.mark.parametrize("form", PACK)
def test_every_form_is_the_machine(form: str, whole: bytes, machine: Machine, tmp_path: Path) -> None:
    path = written(tmp_path, PACK[form](whole), f"machine.{form}")
    source = open_source(path)
    assert (source.origin, source.live, source.identity) == (str(path), False, None)
    assert facts(read_machine(source)) == facts(machine)


def test_streams_of_xz_one_after_the_other(whole: bytes, machine: Machine, tmp_path: Path) -> None:
    data = lzma.compress(whole[:5120]) + bytes(8) + lzma.compress(whole[5120:])
    assert facts(read_machine(ArchiveSource(written(tmp_path, data)))) == facts(machine)


@pytest.mark.parametrize(
    "names",
    [
        {"sys": "sosreport-host-1/sys", "udev.txt": "sosreport-host-1/sos_commands/devices/udevadm_info_--export-db"},
        {"sys/bus": "bus", "sys/class": "class", "sys/devices": "devices"},
        {"sys/bus": "copy/bus", "sys/class": "copy/class", "sys/devices": "copy/devices"},
        {"sys": "a/b/sys", "udev.txt": "a/b/udev.txt"},
        {"sys": "/sys"},
    ],
)
def test_wherever_the_machine_lies_in_it(names: dict[str, str], machine: Machine, tmp_path: Path) -> None:
    found = read_machine(ArchiveSource(written(tmp_path, tar_of(names))))
    assert found.devices == machine.devices
    assert found.functions.keys() == machine.functions.keys()


def test_the_kernel_of_an_sosreport(tmp_path: Path) -> None:
    data = io.BytesIO(tar_of({"sys": "sosreport-h/sys"}))
    with tarfile.open(fileobj=data, mode="a") as tar:
        add(tar, "sosreport-h/sos_commands/kernel/uname_-a", b"Linux host7 6.6.0-28.oe2403 #1 SMP aarch64\n")
    found = read_machine(ArchiveSource(written(tmp_path, data.getvalue())))
    assert (found.kernel, found.hostname) == ("6.6.0-28.oe2403", "host7")


def test_the_folder_that_an_sosreport_was_unpacked_in(machine: Machine, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(tar_of({"sys": "sosreport-h/sys"}))) as tar:
        tar.extractall(tmp_path, filter="data")
    assert read_machine(open_source(tmp_path)).devices == machine.devices


def test_writes_stay_in_memory(whole: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, whole)
    source = ArchiveSource(path)
    attribute = "/sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p"
    source.write(attribute, "2")
    assert source.read(attribute) == "2"
    assert ArchiveSource(path).read(attribute) == "1"
    assert path.read_bytes() == whole


def add(tar: tarfile.TarFile, name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, len(content), link
    tar.addfile(member, io.BytesIO(content))


def made(*members: tuple[str, bytes, bytes, str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        add(tar, "sys/bus/x", b"1")
        for name, content, kind, link in members:
            add(tar, name, content, kind, link)
    return data.getvalue()


def test_files_of_sysfs_are_filled_with_zeros_by_tar(tmp_path: Path) -> None:
    page = b"0x19e5\n".ljust(4096, b"\0")
    data = made(("sys/class/a", page, tarfile.REGTYPE, ""), ("sys/class/config", page, tarfile.REGTYPE, ""))
    source = ArchiveSource(written(tmp_path, data))
    assert source.read("/sys/class/a") == "0x19e5"
    assert source.read_bytes("/sys/class/config", 9) == b"0x19e5\n\0\0"


def test_nothing_leads_out_of_it(tmp_path: Path) -> None:
    secret = written(tmp_path, b"secret", "secret")
    data = made(
        ("sys/class/link", b"", tarfile.SYMTYPE, str(secret)),
        ("sys/class/up", b"", tarfile.SYMTYPE, "../../../../../../../../etc/passwd"),
        ("sys/class/hard", b"", tarfile.LNKTYPE, str(secret)),
        ("sys/class/same", b"", tarfile.LNKTYPE, "sys/bus/x"),
        ("sys/../../out", b"x", tarfile.REGTYPE, ""),
        ("sys/class/pipe", b"", tarfile.FIFOTYPE, ""),
        ("sys/class/device", b"", tarfile.CHRTYPE, ""),
        ("sys/class/loop", b"", tarfile.SYMTYPE, "loop"),
    )
    source = ArchiveSource(written(tmp_path, data))
    for name in ("link", "up", "hard", "pipe", "device", "loop"):
        with pytest.raises(OSError):
            source.read(f"/sys/class/{name}")
    assert source.read("/sys/class/same") == "1"
    assert source.names("/sys/class") == ["link", "loop", "same", "up"]


def code_of(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        ArchiveSource(path)
    assert str(path) in caught.value.message
    return caught.value.code


def test_what_is_not_an_archive_of_a_machine(whole: bytes, tmp_path: Path) -> None:
    assert code_of(written(tmp_path, b"hello\n")) == "not-a-machine"
    assert code_of(written(tmp_path, b"")) == "not-a-machine"
    assert code_of(written(tmp_path, gzip.compress(b"hello\n"))) == "not-a-machine"
    assert code_of(written(tmp_path, b"PK\x03\x04" + bytes(2000))) == "not-a-machine"
    assert code_of(tmp_path / "missing") == "no-such-file"
    assert code_of(written(tmp_path, tar_of({"proc": "proc"}))) == "no-sysfs"
    assert (
        code_of(written(tmp_path, tar_of({"sys/module": "a/sys/module", "sys/bus": "a/sys/bus", "sys/class": "b/sys/class"})))
        == "several-machines"
    )
    os.mkfifo(tmp_path / "pipe")
    assert code_of(tmp_path / "pipe") == "not-a-machine"


@pytest.mark.parametrize("form", PACK)
def test_cut_off(form: str, whole: bytes, tmp_path: Path) -> None:
    packed = PACK[form](whole)
    for size in (len(packed) // 3, len(packed) * 2 // 3):
        assert code_of(written(tmp_path, packed[:size])) == "damaged-archive"


def test_a_damaged_byte_of_packed_data_is_an_error(whole: bytes, tmp_path: Path) -> None:
    """No exception of a library comes through, and the checksum at the end is looked at."""
    packed = gzip.compress(whole, mtime=0)
    for at in range(10, len(packed), len(packed) // 20):  # behind the time and the system in the header of gzip
        damaged = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
        assert code_of(written(tmp_path, damaged)) in ("damaged-archive", "not-a-machine")


def test_a_damaged_header_is_not_the_end(whole: bytes, tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
        headers = [member.offset for member in tar if member.isreg()]
    at = headers[len(headers) // 2] + 3
    assert code_of(written(tmp_path, whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])) == "damaged-archive"


def header(size: int, kind: bytes) -> bytes:
    member = tarfile.TarInfo("x")
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_gigabytes(kind: bytes, tmp_path: Path) -> None:
    data = gzip.compress(header(8 << 30, kind) + bytes(16 << 20))
    assert code_of(written(tmp_path, data)) == "damaged-archive"


def test_headers_of_headers(tmp_path: Path) -> None:
    one = header(512, tarfile.XHDTYPE) + b"9 a=bcd\n\n".ljust(512, b"\0")
    assert code_of(written(tmp_path, one * 5000)) in ("damaged-archive", "not-a-machine")


def test_a_file_that_expands_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expanded, "ARCHIVE_FREE", 1 << 20)
    data = gzip.compress(made()[:1024] + header(1 << 33, tarfile.REGTYPE) + bytes(40 << 20))
    assert code_of(written(tmp_path, data)) == "over-budget"


def test_more_files_or_bytes_than_a_machine_has(whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, most in (("MAX_ARCHIVE_MEMBERS", 100), ("MAX_ARCHIVE_KEPT", 1000), ("_MOST_ROOTS", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(archive, limit, most)
            assert code_of(written(tmp_path, whole)) == "over-budget"


def test_a_dictionary_larger_than_the_memory(tmp_path: Path) -> None:
    """The header of an xz file asks for the memory; little data comes behind it."""
    small = lzma.compress(made(), filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 4096}])
    block = bytearray(small[12 : 12 + (small[12] + 1) * 4])
    at = block.index(bytes([0x21, 0x01, 0x00]))
    block[at + 2] = 36  # a dictionary of 1 GiB, as the xz format counts
    block[-4:] = zlib.crc32(bytes(block[:-4])).to_bytes(4, "little")
    assert code_of(written(tmp_path, small[:12] + bytes(block) + small[12 + len(block) :])) == "damaged-archive"
