"""The plug-in as somebody else's tests use it: separate runs of pytest."""

from __future__ import annotations

import subprocess
import sys

import pytest

USED = """
    import errno, os
    import pyudev, pytest
    from ptttool.testing import FakeMachine, kunpeng

    def links():
        with open("/sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p") as file:
            return int(file.read())

    def test_default(ptt_machine, fs):
        assert ptt_machine.kernel.version == (6, 12) and ptt_machine.hostname == "ptt-rig"
        assert links() == 1
        assert fs.exists("/proc/sys/kernel/osrelease")

    @pytest.mark.ptt_machine("6.1")
    def test_other_kernel(ptt_machine):
        assert not os.path.exists("/sys/bus/event_source/devices/hisi_ptt0_0/root_port_filters")
        assert os.path.realpath("/sys/bus/event_source/devices/hisi_ptt0_0") == "/sys/devices/hisi_ptt0_0"

    def ours():
        machine = FakeMachine(hostname="ours")
        machine.add_ptt("hisi_ptt0_0", "0000:00:08.0", tune={"qos_tx_p": 2})
        return machine

    @pytest.mark.ptt_machine(machine=ours)
    def test_marked(ptt_machine):
        assert links() == 2

    def test_two_after_another(mount_ptt_machine):
        mount_ptt_machine(kunpeng())
        assert links() == 1
        mount_ptt_machine(ours())
        assert links() == 2
        assert [device.sys_name for device in pyudev.Context().list_devices(subsystem="pci")] == ["0000:00:08.0"]

    def test_libudev(ptt_machine):
        devices = list(pyudev.Context().list_devices(subsystem="event_source"))
        ptt = [device for device in devices if device.sys_name.startswith("hisi_ptt")]
        assert [device.device_path.rpartition("/")[2] for device in ptt] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]
        nvme = pyudev.Devices.from_sys_path(pyudev.Context(), "/sys/bus/pci/devices/0000:01:00.0")
        assert (nvme.subsystem, nvme.driver, nvme.properties["PCI_ID"]) == ("pci", "nvme", "1B36:0010")
        assert len(list(pyudev.Context().list_devices())) > 20
        with pytest.raises(pyudev.DeviceNotFoundError):
            pyudev.Devices.from_sys_path(pyudev.Context(), "/sys/bus/pci/devices/0000:77:00.0")

    def test_after_it_everything_is_as_before():
        assert not os.path.exists("/sys/bus/event_source/devices/hisi_ptt0_0")
        assert pyudev.Context.__module__.startswith("pyudev")
"""


def test_every_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USED)
    result = pytester.runpytest_subprocess("-p", "ptttool.testing.plugin", "--strict-markers", "-W", "error", "-n0")
    result.assert_outcomes(passed=6)


def test_the_command_line_and_the_library(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import json
        from pathlib import Path
        from ptttool.cli.main import main

        def test_command_line(ptt_machine, capsys, fs):
            assert main(["tune", "set", "hisi_ptt0_2", "qos_tx_np=7", "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["changes"][0]["new"] == 2
            assert main(["tune", "save", "/root.toml"]) == 0
            assert "qos_tx_np = 2" in Path("/root.toml").read_text()
            ptt_machine["hisi_ptt0_2"]["qos_tx_np"].value = 0
            assert main(["tune", "apply", "/root.toml"]) == 0
            assert ptt_machine.writes == ["hisi_ptt0_2/qos_tx_np=2"] * 2
            ptt_machine["hisi_ptt0_2"].hang(110)
            assert main(["tune", "get", "hisi_ptt0_2", "qos_tx_np"]) == 7
            assert main(["list", "--demo"]) == 0

        def test_library(ptt_machine):
            from ptttool.machine.discovery import read_machine
            from ptttool.machine.sources.udev import UdevSource
            assert len(read_machine(UdevSource()).devices) == 3
        """
    )
    pytester.runpytest_subprocess("-p", "ptttool.testing.plugin", "-n0").assert_outcomes(passed=2)


def test_without_pyfakefs(pytester: pytest.Pytester) -> None:
    """Said in one line, and nobody else is disturbed."""
    pytester.makeconftest("import sys; sys.modules['pyfakefs'] = None")
    pytester.makepyfile("def test_machine(ptt_machine): pass\ndef test_other(): pass")
    result = pytester.runpytest_subprocess("-p", "no:fakefs", "-p", "ptttool.testing.plugin", "-n0")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*pip install pyfakefs*"])
    assert "Traceback" not in result.stdout.str()


def test_without_the_plug_in_of_pyfakefs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_machine(ptt_machine): pass")
    result = pytester.runpytest_subprocess("-p", "no:fakefs", "-p", "ptttool.testing.plugin", "-n0")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*needs pyfakefs and its pytest plug-in*"])


def test_it_costs_nothing_until_it_is_used() -> None:
    """pytest imports the plug-in at every start."""
    code = (
        "import pytest, sys; before = set(sys.modules); import ptttool.testing.plugin; "
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('ptttool')))"
        "; print(sorted(name for name in sys.modules if name.startswith('ptttool.') and name.count('.') > 1))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "['ptttool.testing.plugin']"
    assert not {"pyfakefs", "numpy", "polars", "pyudev", "rich", "typer"} & set(done.stdout.splitlines()[0].split("'"))


def test_names_of_the_package() -> None:
    import ptttool.testing

    for name in ptttool.testing.__all__:
        assert getattr(ptttool.testing, name).__module__.startswith("ptttool.testing.")
    with pytest.raises(AttributeError):
        ptttool.testing.nothing  # noqa: B018
