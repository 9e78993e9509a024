"""Each target with its own tool: what is exported does what it says, on a recorded machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ptttool.cli.main import main
from ptttool.errors import UsageError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.tree import TreeSource
from ptttool.tune.persist.contract import TARGETS, PermanentValues
from ptttool.tune.persist.export import Export, export_profile
from ptttool.tune.profiles.named import built_in_profile
from ptttool.tune.profiles.profile import parse_profile
from tests.support import machines, own_system

pytestmark = pytest.mark.slow

DEVICES = ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
WANTED = {(device, attribute): 2 for device in DEVICES for attribute in ("rx_alloc_buf_level", "tx_alloc_buf_level")}


@pytest.fixture(params=[machines.NEW, machines.OLD])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return machines.copy_of(request.param, tmp_path)


@pytest.fixture
def new_tree(tmp_path: Path) -> Path:
    return machines.copy_of(machines.NEW, tmp_path)


def exported(target: str, tree: Path) -> Export:
    return export_profile(target, built_in_profile("network"), list_devices(TreeSource(tree)))


def written(export: Export, folder: Path) -> Path:
    """The file that is printed, in a folder, with the name it has where it belongs."""
    path = folder / Path(export.files[0].path).name
    path.write_text(export.files[0].text)
    return path


def changed(tree: Path) -> dict[tuple[str, str], int]:
    """The attributes of a machine that are not 1."""
    found = {}
    for path in (tree / "sys/bus/event_source/devices").glob("hisi_ptt*/tune/*"):
        value = int(path.read_text())
        if value != 1:
            found[path.parts[-3], path.name] = value
    return found


def test_udev_of_its_own_writes_the_values_of_a_new_device(tree: Path, tmp_path: Path) -> None:
    """A real udevd gets the events of the devices, as the kernel sends them, and carries out the rules."""
    rules = written(exported("udev", tree), tmp_path)
    paths = [f"/sys/bus/event_source/devices/{device}" for device in DEVICES]
    done = own_system.inside(tree, [sys.executable, "-m", "tests.support.own_system", "add", *paths], rules=rules)
    assert done.returncode == 0, done.stderr
    assert changed(tree) == WANTED
    wrong = [line for line in done.stderr.splitlines() if "90-ptttool-tune.rules" in line and "writing" not in line]
    assert [line for line in wrong if "Reading rules file" not in line] == []


def test_udev_does_nothing_at_other_events(new_tree: Path, tmp_path: Path) -> None:
    rules = written(exported("udev", new_tree), tmp_path)
    device = f"/sys/bus/event_source/devices/{DEVICES[0]}"
    done = own_system.inside(new_tree, [sys.executable, "-m", "tests.support.own_system", "change", device], rules=rules)
    assert done.returncode == 0, done.stderr
    assert changed(new_tree) == {}


def test_udevadm_finds_nothing_wrong(new_tree: Path, tmp_path: Path) -> None:
    rules = written(exported("udev", new_tree), tmp_path)
    device = f"/sys/bus/event_source/devices/{DEVICES[1]}"
    done = own_system.inside(new_tree, ["udevadm", "test", "--action=add", device], rules=rules)
    assert done.returncode == 0, done.stderr
    assert "90-ptttool-tune.rules:4" in done.stdout + done.stderr
    version = subprocess.run(["udevadm", "--version"], capture_output=True, text=True, check=True).stdout
    if int(re.findall(r"\d+", version)[0]) >= 254:  # before that udevadm has no verify
        verified = subprocess.run(["udevadm", "verify", "--no-style", str(rules)], capture_output=True, text=True)
        assert verified.returncode == 0, verified.stdout + verified.stderr


def test_systemd_tmpfiles_writes_the_values(tree: Path, tmp_path: Path) -> None:
    file = written(exported("tmpfiles", tree), tmp_path)
    done = subprocess.run(["systemd-tmpfiles", f"--root={tree}", "--create", str(file)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert changed(tree) == WANTED


@pytest.mark.parametrize("name", ["ptttool", "a b", "50%d $HOME ${x}", "käse\u2028", "-x;|&"])
def test_systemd_verifies_the_unit(new_tree: Path, tmp_path: Path, name: str) -> None:
    """systemd finds the program, whatever its folder is called, and the text that it gives to it is the profile."""
    program = tmp_path / name / "ptttool"
    program.parent.mkdir()
    shutil.copy("/bin/true", program)
    values = PermanentValues("network", exported_values(new_tree), (str(program), "-m", name))
    unit = tmp_path / "ptttool-tune.service"
    unit.write_text(TARGETS.get("systemd").files(values)[0].text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60)
    about = [line for line in done.stderr.splitlines() if "ptttool" in line]
    assert about == []
    given = re.findall(r"^StandardInputText=(.*)$", unit.read_text(), re.MULTILINE)
    assert parse_profile("\n".join(given).encode(), "unit").devices == exported_values(new_tree)


@pytest.mark.parametrize("name", ['q"uote', "it's", "back\\slash", "line\nExecStart=/bin/false"])
def test_systemd_would_not_take_the_path_of_a_program(new_tree: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        TARGETS.get("systemd").files(PermanentValues("network", exported_values(new_tree), (f"/opt/{name}/ptttool",)))
    assert caught.value.code == "odd-program"


def test_arguments_of_the_program_stay_on_their_line(new_tree: Path, tmp_path: Path) -> None:
    words = ("/bin/true", "a\nExecStart=/bin/false", "%n$HOME", '"\\')
    unit = tmp_path / "ptttool-tune.service"
    unit.write_text(TARGETS.get("systemd").files(PermanentValues("network", exported_values(new_tree), words))[0].text)
    assert len([line for line in unit.read_text().splitlines() if line.startswith("ExecStart")]) == 1
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60)
    assert [line for line in done.stderr.splitlines() if "ptttool" in line] == []


def test_systemd_verify_sees_a_wrong_unit(new_tree: Path, tmp_path: Path) -> None:
    """The check above can fail."""
    unit = tmp_path / "ptttool-tune.service"
    unit.write_text(TARGETS.get("systemd").files(PermanentValues("network", exported_values(new_tree), ("/nowhere/ptttool",)))[0].text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60)
    assert "/nowhere/ptttool" in done.stderr


def exported_values(tree: Path) -> dict[str, dict[str, int]]:
    return {device: {"rx_alloc_buf_level": 2, "tx_alloc_buf_level": 2} for device in DEVICES}


def test_the_unit_is_enabled_as_systemctl_does_it(new_tree: Path, tmp_path: Path) -> None:
    unit, link = exported("systemd", new_tree).files
    root = tmp_path / "root"
    target = root / unit.path.lstrip("/")
    target.parent.mkdir(parents=True)
    target.write_text(unit.text)
    subprocess.run(["systemctl", f"--root={root}", "enable", target.name], check=True, capture_output=True, timeout=60)
    assert (root / link.path.lstrip("/")).readlink() == Path(link.text)


def test_tuned_reads_and_writes_it(new_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TuneD's own parser and its own plug-in of sysfs."""
    packages = Path(sys.prefix) / "share/tuned/usr/lib/python3/dist-packages"
    assert packages.is_dir(), "make test-system unpacks TuneD"
    export = exported("tuned", new_tree)
    folder = tmp_path / "profiles" / Path(export.files[0].path).parent.name
    folder.mkdir(parents=True)
    written(export, folder)
    script = f"""
import json, sys
sys.path.insert(0, {str(packages)!r})
import tuned.logs
tuned.logs.get().setLevel("ERROR")
from tuned.profiles.factory import Factory
from tuned.profiles.loader import Loader
from tuned.profiles.locator import Locator
from tuned.profiles.merger import Merger
from tuned.profiles.variables import Variables
profile = Loader(Locator([{str(tmp_path / "profiles")!r}]), Factory(), Merger(), None, Variables()).load([{folder.name!r}])
from tuned.plugins.plugin_sysfs import SysfsPlugin
from types import SimpleNamespace
from tuned.utils.commands import commands
unit = profile.units["sysfs"]
plugin = SysfsPlugin.__new__(SysfsPlugin)
plugin._cmd, plugin._variables = commands(), Variables()
instance = SimpleNamespace(options=unit.options)
plugin._instance_init(instance)
plugin._instance_apply_static(instance)
print(json.dumps([unit.type, dict(unit.options), plugin._instance_verify_static(instance, False, [])]))
"""
    done = own_system.inside(new_tree, [sys.executable, "-c", script])
    assert done.returncode == 0, done.stderr
    kind, options, verified = json.loads(done.stdout.splitlines()[-1])
    assert (kind, verified) == ("sysfs", True)
    paths = {f"/sys/bus/event_source/devices/{device}/tune/{attribute}": str(value) for (device, attribute), value in WANTED.items()}
    assert options == paths
    assert changed(new_tree) == WANTED


def test_ansible_takes_the_playbook(new_tree: Path, tmp_path: Path) -> None:
    export = exported("ansible", new_tree)
    file = written(export, tmp_path)
    (play,) = yaml.safe_load(file.read_text())
    assert all(each["name"][0].isupper() for each in (play, *play["tasks"])), "ansible-lint: name[casing]"
    copied = next(task["ansible.builtin.copy"] for task in play["tasks"] if "ansible.builtin.copy" in task)
    assert copied["content"] == exported("udev", new_tree).files[0].text
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [program, "--syntax-check", "--inventory", "localhost,", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "ANSIBLE_LOCAL_TEMP": str(tmp_path), "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_playbook_sets_a_value_and_reads_it_back(new_tree: Path, tmp_path: Path) -> None:
    """Its shell lines, by the shell that Ansible runs them with."""
    (play,) = yaml.safe_load(exported("ansible", new_tree).files[0].text)
    (script,) = [task["ansible.builtin.shell"] for task in play["tasks"] if "ansible.builtin.shell" in task]
    path = tmp_path / "value"
    path.write_text("1\n")

    def run(where: Path) -> tuple[int, str]:
        environment = {"TUNE_PATH": str(where), "TUNE_VALUE": "2", "PATH": os.environ["PATH"]}
        done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, env=environment)
        return done.returncode, done.stdout

    assert run(path) == (0, "changed\n")
    assert run(path) == (0, "")
    assert path.read_text() == "2\n"
    assert run(Path("/dev/null"))[0] != 0


def test_every_target_is_tested_and_says_what_to_know(new_tree: Path) -> None:
    assert TARGETS.names() == ["ansible", "systemd", "tmpfiles", "tuned", "udev"]
    for target in TARGETS:
        assert target.limits
        assert target.meaning
        assert target.activation(PermanentValues("p", {"hisi_ptt0_0": {"qos_tx_p": 1}}, ("/usr/bin/ptttool",)))
        # The same values give the same text.
        assert exported(target.name, new_tree) == exported(target.name, new_tree)


@pytest.mark.parametrize("target", ["ansible", "systemd", "tmpfiles", "tuned", "udev"])
def test_the_command_prints_the_text_alone(new_tree: Path, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "export", "network", "--to", target, "--sysfs", str(new_tree)]) == 0
    assert capsys.readouterr().out == exported(target, new_tree).files[0].text
