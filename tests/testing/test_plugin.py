"""The plug-in as somebody else's tests use it: separate runs of pytest."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from ptttool.testing.fakefs.imports import KEPT
from tests import ROOT

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


def test_files_of_the_project_and_processes(pytester: pytest.Pytester) -> None:
    """What tests of others have beside the machine: temporary folders, files, modules that are imported late, processes."""
    pytester.makefile(".json", policy="[1]")
    pytester.makepyfile(script="import os\ndef tune(): return os.listdir('/sys/bus/event_source/devices/hisi_ptt0_0/tune')\n")
    pytester.makepyfile(
        """
        import asyncio, json, os, subprocess, sys
        from pathlib import Path
        import pytest

        def kept():
            return {name: module for name, module in sys.modules.items() if name.startswith("ptttool.cli.") and module.__spec__}

        def before(ptt_machine, tmp_path):
            (tmp_path / "x").write_text("1")
            assert os.listdir(tmp_path) == ["x"]

        def test_nothing_heavy(ptt_machine):
            assert not {"polars", "numpy", "pandas", "textual"} & set(sys.modules)

        def test_folder_after(ptt_machine, tmp_path):
            before(ptt_machine, tmp_path)

        def test_folder_before(tmp_path, ptt_machine):
            before(ptt_machine, tmp_path)

        def test_another_folder(ptt_machine, tmp_path_factory):
            before(ptt_machine, tmp_path_factory.mktemp("other"))

        def test_after_fs(fs, ptt_machine, tmp_path):
            before(ptt_machine, tmp_path)

        def test_files(ptt_machine):
            assert json.loads((Path(__file__).parent / "policy.json").read_text()) == [1]
            Path("policy.json").write_text("[2]")
            assert Path("policy.json").read_text() == "[2]"

        def test_files_are_as_before():
            assert Path("policy.json").read_text() == "[1]"

        @pytest.mark.parametrize("times", range(2))
        def test_modules_that_are_imported_late(ptt_machine, times, tmp_path):
            from script import tune
            assert "qos_tx_p" in tune()
            from ptttool.cli.main import main
            assert main(["tune", "save", str(tmp_path / "p.toml")]) == 0
            assert main(["doctor"]) != 2
            assert "qos_tx_p" in tune() and sys.modules["script"].tune is tune
            now = kept()
            assert now and all(now[name] is module for name, module in KEPT.items())
            KEPT.update(now)

        KEPT = {}

        def test_processes(ptt_machine):
            assert subprocess.check_output(["echo", "hi"]) == b"hi\\n"
            assert subprocess.run(["cat"], input="x", capture_output=True, text=True).stdout == "x"
            reader, writer = os.pipe()
            subprocess.run(["echo", "z"], stdout=writer, check=True)
            assert os.read(reader, 9) == b"z\\n"
            os.close(reader), os.close(writer)
            for path in ("new", "/sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p"):
                with open(path, "w") as file, pytest.raises(OSError, match="write_to"):
                    subprocess.run(["echo", "hi"], stdout=file)

        def test_a_process_of_asyncio(ptt_machine):
            async def output():
                process = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
                return await asyncio.wait_for(process.communicate(), 60)
            assert asyncio.run(output())[0] == b"hi\\n"

        def test_names(ptt_machine):
            with pytest.raises(KeyError, match="hisi_ptt2_0"):
                ptt_machine["hisi_ptt9_9"]
            with pytest.raises(KeyError, match="qos_tx_p"):
                ptt_machine["hisi_ptt0_0"]["qos_tx_zz"]
        """
    )
    pytester.runpytest_subprocess("-p", "ptttool.testing.plugin", "-W", "error", "-n0").assert_outcomes(passed=12)


def test_all_libraries_are_kept() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [
        *project["dependencies"],
        *(each for extra in ("cluster", "flow", "perfetto") for each in project["optional-dependencies"][extra]),
    ]
    assert {"ptttool", *(re.split(r"[>=<]", each)[0].replace("-", "_") for each in needed)} == KEPT


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
