from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ptttool.machine.discovery import read_machine
from ptttool.machine.functions import names as pci_names
from ptttool.pci import PciAddress
from tests.support.machines import NEW, contents, in_memory

LIST = """#
# comment
0e11  Compaq Computer Corporation
\ta12e  A device of another vendor
19e5  Huawei Technologies Co., Ltd.
\t0200  Hi1822 Family (2*100GE)
\t\t19e5 a12e  A subsystem of that number
# a comment inside
\ta12e  PCIe Tune and Trace
1b36  Red Hat, Inc.
C 01  Mass storage controller
\t01  IDE interface
"""


@pytest.fixture(params=["pci.ids", "pci.ids.gz"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    data = LIST.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_names(file: Path, tmp_path: Path) -> None:
    vendors, devices = pci_names.look_up([(0x19E5, 0xA12E), (0x1B36, 0x10), (0xDEAD, 1), (0x19E5, 0x201)], [tmp_path / "missing", file])
    assert vendors == {0x19E5: "Huawei Technologies Co., Ltd.", 0x1B36: "Red Hat, Inc."}
    assert devices == {(0x19E5, 0xA12E): "PCIe Tune and Trace"}


def test_without_a_list(tmp_path: Path) -> None:
    damaged = tmp_path / "pci.ids.gz"
    damaged.write_bytes(b"\x1f\x8b\x08\x00damaged")
    assert pci_names.look_up([(0x19E5, 0xA12E)], [tmp_path / "missing", damaged]) == ({}, {})


@pytest.mark.parametrize(
    ("with_udev", "with_list", "expected"),
    [
        (True, True, "Huawei Technologies Co., Ltd. PCIe Tune and Trace"),
        (True, False, "Huawei Technologies Co., Ltd. Device [19e5:a12e]"),
        (False, True, "Huawei Technologies Co., Ltd. PCIe Tune and Trace"),
        (False, False, "Device [19e5:a12e]"),
    ],
)
def test_udev_then_the_list_then_the_numbers(
    with_udev: bool, with_list: bool, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pci.ids"
    if with_list:
        path.write_text(LIST)
    monkeypatch.setattr(pci_names, "FILES", (path,))
    files, links = contents(NEW)
    if not with_udev:
        del files["/udev.txt"]
    machine = read_machine(in_memory(files, links))
    assert machine.functions[PciAddress.parse("00:08.0")].name == expected
    nvme = machine.functions[PciAddress.parse("01:00.0")].name
    assert nvme == (
        "Red Hat, Inc. QEMU NVM Express Controller"
        if with_udev
        else "Red Hat, Inc. Device [1b36:0010]"
        if with_list
        else "Device [1b36:0010]"
    )
