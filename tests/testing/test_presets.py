"""The preset is the recorded machine, file for file."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.tree import TreeSource
from ptttool.testing import kunpeng
from ptttool.testing.fakefs.libudev import FakeDevice
from tests.support.machines import MACHINES, contents

RELEASES = ("6.12", "6.1")
# Where PCI puts vendor, device, revision and class; the bus numbers of a bridge; the subsystem of all else.
IDS, BUSES, SUBSYSTEM = (slice(0, 4), slice(8, 12)), slice(0x18, 0x1B), slice(0x2C, 0x30)
# Recorded links to devices that are not: the loopback device, the disk the machine was started from.
ELSEWHERE = {"/sys/class/net/lo", "/sys/class/block/vda"}


@pytest.mark.parametrize("release", RELEASES)
def test_every_file(release: str) -> None:
    files, links = contents(f"kunpeng-{release}")
    tree = kunpeng(release).tree()
    # Fake functions have no Base Address Registers.
    missing = {path for path in files if not path.endswith("/resource")} - set(tree.files)
    assert missing == {"/udev.txt", "/modes.txt"}
    assert set(tree.files) <= set(files)
    for path, attribute in tree.files.items():
        shown, recorded = attribute.show(), files[path]
        if path.endswith("/config"):
            assert len(shown) == len(recorded), path
            bridge = path.replace("config", "secondary_bus_number") in files
            for part in (*IDS, BUSES if bridge else SUBSYSTEM):
                assert shown[part] == recorded[part], path
        elif release == "6.1" and path.endswith("n1/uevent"):  # there the disks came up in the other order
            assert shown.split(b"\n")[2] == recorded.split(b"\n")[2]
        else:
            assert shown == recorded, path
    assert set(links) - ELSEWHERE == set(tree.links)
    assert {path: links[path] for path in tree.links} == tree.links


@pytest.mark.parametrize("release", RELEASES)
def test_modes(release: str) -> None:
    modes = kunpeng(release).tree().modes
    lines = [f"{mode:o} {path}" for path, mode in sorted(modes.items()) if mode in (0o400, 0o600)]
    assert lines == (MACHINES / f"kunpeng-{release}" / "modes.txt").read_text().splitlines()


@pytest.mark.parametrize("release", RELEASES)
def test_udev(release: str) -> None:
    """What the fake database has, the real one has; of functions it has all that tells one from another."""
    real = TreeSource(MACHINES / f"kunpeng-{release}")
    for path, properties in kunpeng(release).tree().properties.items():
        recorded = real.properties(path)
        assert set(properties) <= set(recorded), path
        if "nvme" not in path or release == "6.12":
            assert {name: recorded[name] for name in properties} == properties
        names = {name for name in recorded if name.startswith(("PCI_", "DRIVER", "ID_MODEL_FROM", "ID_VENDOR_FROM"))}
        assert recorded["SUBSYSTEM"] != "pci" or names <= set(properties), path
        assert FakeDevice({path: properties}, path).subsystem == recorded["SUBSYSTEM"]


def test_every_release_between() -> None:
    """The folders of filters come with 6.5, the PMU's place below its function with 6.10."""
    cases = (("6.4.0", False, False), ("6.5-rc1", True, False), ("6.8", True, False), ("6.10", True, True), ("7.0", True, True))
    for release, filters, below in cases:
        tree = kunpeng(release).tree()
        assert any("/root_port_filters/" in path for path in tree.files) == filters
        assert (tree.links["/sys/bus/event_source/devices/hisi_ptt2_0"] != "../../../devices/hisi_ptt2_0") == below
    with pytest.raises(ValueError, match="release"):
        kunpeng("newest")


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("way", ["files", "read"])
def test_what_is_found_on_it(way: str, release: str, tmp_path: Path) -> None:
    fake = kunpeng(release)
    machine = fake.read() if way == "read" else read_machine(TreeSource(fake.write_to(tmp_path / "machine")))
    recorded = read_machine(TreeSource(MACHINES / f"kunpeng-{release}"))
    assert machine.devices == recorded.devices
    assert machine.functions == recorded.functions
    assert (machine.kernel, machine.hostname, machine.diagnostics) == (recorded.kernel, recorded.hostname, recorded.diagnostics)
