"""Hostile copies of a machine's sysfs, and of its udev database."""

from __future__ import annotations

import zlib
from pathlib import Path

from bench.bombs.contract import bomb

EVENT_SOURCE = "sys/bus/event_source/devices"
PTT = {"vendor": "0x19e5", "device": "0xa12e", "class": "0x120000"}
PORT = {"vendor": "0x19e5", "device": "0xa120", "class": "0x060400"}


def write(path: Path, text: str) -> None:
    """Write a file; its folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def add_device(folder: Path, name: str, cpumask: str = "0-7") -> None:
    """Add a PTT device."""
    write(folder / EVENT_SOURCE / name / "cpumask", cpumask)
    write(folder / EVENT_SOURCE / name / "type", "12")
    write(folder / EVENT_SOURCE / name / "format/filter", "config:0-19")


def add_function(folder: Path, address: str, files: dict[str, str]) -> None:
    """Add a PCI function."""
    for name, text in files.items():
        write(folder / "sys/bus/pci/devices" / address / name, text)


def address_of(number: int) -> str:
    """Return a PCI address; each number has its own."""
    return f"{number >> 16:04x}:{number >> 8 & 0xFF:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"


@bomb("machine-cpumask", "a list of CPUs with the same range again and again", 2000)
def cpumask(folder: Path, size: int) -> list[str]:
    """Make a machine with a long list of CPUs."""
    add_device(folder, "hisi_ptt0_0", "0-8191," * size)
    add_function(folder, "0000:00:00.0", PTT)
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-cpumask-large", "a list of CPUs that no machine has", 2000)
def large_cpumask(folder: Path, size: int) -> list[str]:
    """Make a machine with a list of a million CPUs."""
    add_device(folder, "hisi_ptt0_0", "0-999999," * size)
    add_function(folder, "0000:00:00.0", PTT)
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-udev-packed", "a packed udev database of zeros (MiB)", 200, 6, "over-budget")
def packed_database(folder: Path, size: int) -> list[str]:
    """Make a machine with a packed udev database that expands a thousandfold."""
    add_device(folder, "hisi_ptt0_0")
    packer = zlib.compressobj(9, wbits=31)
    piece = bytes(1 << 20)
    (folder / "udev.txt.gz").write_bytes(b"".join(packer.compress(piece) for _ in range(size)) + packer.flush())
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-udev-devices", "a udev database of devices without properties", 100_000, 6, "over-budget")
def many_in_database(folder: Path, size: int) -> list[str]:
    """Make a machine with a udev database of many devices."""
    add_device(folder, "hisi_ptt0_0")
    (folder / "udev.txt").write_text("".join(f"P: /{number:x}\n" for number in range(2 * size)), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-udev-paths", "a udev database with long paths of PCI functions", 20)
def long_paths(folder: Path, size: int) -> list[str]:
    """Make a machine with a udev database of long paths."""
    add_device(folder, "hisi_ptt0_0")
    long = "a/" * 10_000
    lines = (f"P: /devices/{long}{address_of(number)}\nE: SUBSYSTEM=pci\nE: PCI_ID=19E5:A12E\n\n" for number in range(size))
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-chain", "PCI functions that are bridges one above the other", 1000)
def chain(folder: Path, size: int) -> list[str]:
    """Make a machine whose udev database has a chain of bridges."""
    add_device(folder, "hisi_ptt0_0")
    lines = (
        f"P: /devices/{address_of(number)}/{address_of(number + 1)}\nE: SUBSYSTEM=pci\nE: PCI_ID=19E5:A120\nE: PCI_CLASS=60400\n\n"
        for number in range(size)
    )
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-ports", "root ports with functions behind them", 500)
def ports(folder: Path, size: int) -> list[str]:
    """Make a machine whose udev database has root ports, a function behind each."""
    add_device(folder, "hisi_ptt0_0")
    lines = []
    for number in range(size):
        port, behind = address_of(2 * number), address_of(2 * number + 1)
        lines.append(f"P: /devices/pci/{port}\nE: SUBSYSTEM=pci\nE: PCI_ID=19E5:A120\nE: PCI_CLASS=60400\n\n")
        lines.append(f"P: /devices/pci/{port}/{behind}\nE: SUBSYSTEM=pci\nE: PCI_ID=8086:1572\nE: PCI_CLASS=20000\n\n")
    add_function(folder, "00ff:00:00.0", PTT)
    for number in range(size):
        write(folder / EVENT_SOURCE / "hisi_ptt0_0/root_port_filters" / address_of(2 * number), "0x80001")
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--sysfs", str(folder)]


@bomb("machine-devices", "PTT devices without filter files, and as many functions of their kind", 60)
def devices(folder: Path, size: int) -> list[str]:
    """Make a machine with many PTT devices, as kernels before 6.5 show them."""
    for number in range(size):
        add_device(folder, f"hisi_ptt{number}_0")
        add_function(folder, address_of(8 * number), {**PTT, "local_cpulist": "0-7"})
    for number in range(400):
        add_function(folder, address_of(8 * number + 1), PORT)
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-devices-many", "more PTT devices than any machine has", 300, 6, "over-budget")
def many_devices(folder: Path, size: int) -> list[str]:
    """Make a machine with too many PTT devices."""
    for number in range(size):
        add_device(folder, f"hisi_ptt{number}_0")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-vendors", "PCI functions of as many vendors", 2000)
def vendors(folder: Path, size: int) -> list[str]:
    """Make a machine whose PCI functions are of different vendors."""
    add_device(folder, "hisi_ptt0_0")
    lines = (f"P: /devices/pci/{address_of(number)}\nE: SUBSYSTEM=pci\nE: PCI_ID={number:04X}:0001\n\n" for number in range(1, size))
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-names", "devices of one name each on one PCI function", 5000)
def names(folder: Path, size: int) -> list[str]:
    """Make a machine whose udev database has many block devices on one function."""
    add_device(folder, "hisi_ptt0_0")
    add_function(folder, "0000:00:00.0", PTT)
    lines = (f"P: /devices/pci/0000:00:00.0/block/sd{number}\nE: SUBSYSTEM=block\n\n" for number in range(size))
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]


@bomb("machine-multipath", "paths of one NVMe disk with as many controllers", 300)
def multipath(folder: Path, size: int) -> list[str]:
    """Make a machine with an NVMe disk of many names and controllers."""
    add_device(folder, "hisi_ptt0_0")
    lines = []
    disk = "/devices/virtual/nvme-subsystem/nvme-subsys0"
    for number in range(size):
        write(folder / f"sys{disk}/nvme{number}/state", "live")
        lines.append(f"P: {disk}/nvme0n{number}\nE: SUBSYSTEM=block\n\n")
    (folder / "udev.txt").write_text("".join(lines), encoding="ascii")
    return ["list", "--json", "--sysfs", str(folder)]
