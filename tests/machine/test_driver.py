"""Which driver a machine has, and what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptttool.machine import measured
from ptttool.machine.discovery import read_machine
from ptttool.machine.driver import distribution_names, driver_of, read_driver
from ptttool.machine.measured import MachineKey, Measured
from ptttool.machine.sources.files import MemoryFiles
from ptttool.machine.sources.recorded import DemoSource, RecordedSource
from ptttool.machine.sources.tree import TreeSource

MACHINES = Path(__file__).parents[2] / "fixtures" / "machines"


@pytest.mark.parametrize(
    ("release", "names", "early", "distribution"),
    [
        ("6.1.0-56-arm64", ("debian",), False, "debian"),
        ("6.7.12", (), False, None),
        ("6.8.0", (), True, None),
        ("6.12.95+deb12-arm64", ("debian",), True, "debian"),
        ("5.10.0-216.0.0.115.oe2203sp4.aarch64", (), False, "openeuler"),
        ("6.6.0-72.0.0.64.oe2403sp1.aarch64", ("openeuler",), False, "openeuler"),
        # Late by its name, whatever its number.
        ("6.12.0-1.0.0.1.oe2603.aarch64", (), None, "openeuler"),
        ("6.12.3", ("openeuler",), None, "openeuler"),
        # The release is the kernel's; os-release may be that of a container.
        ("5.10.0-216.0.0.115.oe2203sp4.aarch64", ("debian",), False, "openeuler"),
        ("6.12.95+deb12-arm64", ("openeuler",), True, None),
        (None, (), None, None),
        ("Kunpeng", ("fedora",), None, "fedora"),
    ],
)
def test_by_release_and_distribution(release: str | None, names: tuple[str, ...], early: bool | None, distribution: str | None) -> None:
    driver = driver_of(release, names)
    assert (driver.commits_early, driver.distribution) == (early, distribution)
    assert driver.reason


def test_what_was_measured_counts_more() -> None:
    by_name = driver_of("5.10.0-216.0.0.115.oe2203sp4.aarch64")
    measured = driver_of("5.10.0-216.0.0.115.oe2203sp4.aarch64", measured=True)
    assert (by_name.commits_early, measured.commits_early) == (False, True)
    assert measured.reason != by_name.reason
    assert driver_of("6.12", measured=False).commits_early is False


def test_what_was_measured_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the machine that this runs on the self-test's file is asked; of a recorded one it is not."""
    source = DemoSource("openeuler-5.10")
    key = MachineKey(None, "5.10.0-216.0.0.115.oe2203sp4.aarch64", None)
    asked: list[object] = []

    def measured_here(one: object) -> tuple[Measured, tuple[()]]:
        asked.append(one)
        return Measured(key, "2026-11-20T10:00:00+00:00", {}, commits_early=True), ()

    monkeypatch.setattr(measured, "measured_here", measured_here)
    recorded = read_machine(source, tune=False).driver
    monkeypatch.setattr(DemoSource, "live", True)
    here = read_machine(source, tune=False).driver
    assert recorded is not None
    assert here is not None
    assert (recorded.commits_early, here.commits_early, here.distribution, asked) == (False, True, "openeuler", [source])


@pytest.mark.parametrize(("name", "features"), [("kunpeng-6.1", ()), ("kunpeng-6.12", ("filter-files", "pci-link"))])
def test_features_of_recorded_machines(name: str, features: tuple[str, ...]) -> None:
    driver = read_machine(TreeSource(MACHINES / name), tune=False).driver
    assert driver is not None
    assert (driver.features, driver.srcversion) == (features, None)


def test_features_and_source_version() -> None:
    folder = "/sys/devices/hisi_ptt0_0"
    files = {
        f"{folder}/identifier": b"0x2\n",
        f"{folder}/format/pattern": b"config:36-39\n",
        "/sys/module/hisi_ptt/srcversion": b"0123ABCD\n",
    }
    driver = read_driver(RecordedSource(MemoryFiles(files, {}), "x"), "6.12", folder)
    assert (driver.features, driver.srcversion) == (("identifier", "pattern"), "0123ABCD")


def test_hostile_files() -> None:
    """What is no name or no checksum is left out, however long it is."""
    files = {"/etc/os-release": b'ID="open\x1b[31mEuler ok"\nID_LIKE=' + b"x" * 100 + b" debian\n" + b"ID_LIKE=fedora\n" * 500}
    files["/sys/module/hisi_ptt/srcversion"] = b"\x1b[2J"
    source = RecordedSource(MemoryFiles(files, {}), "x")
    assert distribution_names(source) == ("ok", "fedora")
    assert read_driver(source, "6.12", "/sys/devices/hisi_ptt0_0").srcversion is None


def test_a_machine_without_devices_has_no_driver() -> None:
    assert read_machine(RecordedSource(MemoryFiles({"/proc/sys/kernel/osrelease": b"6.12\n"}, {}), "x")).driver is None
