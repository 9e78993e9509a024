"""What is exported: values of this machine alone, in letters that mean nothing in any format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from ptttool.cli.main import main
from ptttool.errors import PtttoolError, UsageError
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.tree import TreeSource
from ptttool.tune.persist.contract import TARGETS, PermanentFile, PermanentValues, Target
from ptttool.tune.persist.export import export_profile, label_of
from ptttool.tune.profiles.profile import Profile, parse_profile
from tests.support import machines

EVERY = ("ansible", "systemd", "tmpfiles", "tuned", "udev")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return machines.copy_of(machines.NEW, tmp_path)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("storage", "storage"),
        ("/etc/my profile (old).toml", "my_profile__old"),
        ("-", "profile"),
        ("standard input", "standard_input"),
        ("../..", "profile"),
        ('x"\n[Service]\nExecStart=/bin/sh', "sh"),
        ('a"\nRUN+="evil', "a__RUN___evil"),
        ("{{ lookup('pipe', 'id') }}.toml", "lookup__pipe____id"),
        ("%n$HOME`id`", "n_HOME_id"),
        ("é" * 300, "profile"),
        ("x" * 300, "x" * 60),
    ],
)
def test_names_of_profiles_are_plain(path: str, label: str) -> None:
    assert label_of(path) == label


@pytest.mark.parametrize("target", EVERY)
@pytest.mark.parametrize("name", ['a"\nRUN+="/bin/evil', "{{ evil }}", "x\n[sysfs]\n/etc/passwd=1", "$(evil)`evil`%n\\"])
def test_a_hostile_name_of_a_profile_adds_nothing(tree: Path, target: str, name: str) -> None:
    devices = list_devices(TreeSource(tree))
    values = {"hisi_ptt0_0": {"qos_tx_p": 2}}
    hostile = export_profile(target, Profile(name, values), devices)
    plain = export_profile(target, Profile(label_of(name), values), devices)
    assert hostile.files == plain.files
    text = hostile.files[0].text
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert len(text.splitlines()) == len(export_profile(target, Profile("p", values), devices).files[0].text.splitlines())


@pytest.mark.parametrize("target", EVERY)
def test_hostile_names_of_attributes_are_refused(tree: Path, target: str) -> None:
    """A profile cannot name what the machine does not have, and a machine in a folder cannot have what a driver would not."""
    devices = list_devices(TreeSource(tree))
    for device, attribute in (("hisi_ptt0_0", 'x"\nRUN="y'), ('hisi_ptt0_0"\n', "qos_tx_p")):
        with pytest.raises(PtttoolError) as caught:
            export_profile(target, Profile("p", {device: {attribute: 1}}), devices)
        assert caught.value.code in ("profile-device-missing", "profile-attribute-missing")


@pytest.mark.parametrize("target", EVERY)
def test_a_machine_with_odd_names(tree: Path, target: str) -> None:
    source = TreeSource(tree)
    odd = structs.replace(list_devices(source)[0], name='hisi_ptt0_0"\n[Service]').read_from(source)
    with pytest.raises(PtttoolError) as caught:
        export_profile(target, Profile("p", {odd.name: {"qos_tx_p": 1}}), [odd])
    assert caught.value.code == "odd-name"


def test_a_profile_of_another_machine_is_refused(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.toml"
    file.write_text("version = 1\n[devices.hisi_ptt8_0]\nqos_tx_p = 1\n[devices.hisi_ptt0_0]\nqos_tx_p = 2\n")
    command = ["tune", "export", str(file), "--sysfs", str(tree)]
    assert main(command) == 3
    assert capsys.readouterr().out == ""
    assert main([*command, "--ignore-missing"]) == 0
    said = capsys.readouterr()
    assert said.out.count("ACTION") == 1
    assert "hisi_ptt8_0" in said.err


def test_values_are_those_that_the_hardware_stores(tree: Path) -> None:
    profile = parse_profile(b"version = 1\n[devices.hisi_ptt0_0]\ntx_path_rx_req_alloc_buf_level = 77\n", "p")
    export = export_profile("tmpfiles", profile, list_devices(TreeSource(tree)))
    assert export.files[0].text.splitlines()[1:] == ["w /sys/bus/event_source/devices/hisi_ptt0_0/tune/rx_alloc_buf_level - - - - 2"]
    assert [one.code for one in export.diagnostics] == ["clamped-value"]


@pytest.mark.parametrize("text", ["version = 1\n", "version = 1\n[devices.hisi_ptt0_0]\n"])
def test_nothing_to_export(tree: Path, text: str) -> None:
    with pytest.raises(PtttoolError) as caught:
        export_profile("udev", parse_profile(text.encode(), "p"), list_devices(TreeSource(tree)))
    assert caught.value.code == "nothing-to-export"


def test_without_a_profile_the_values_of_now(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "sys/bus/event_source/devices/hisi_ptt0_2/tune/qos_tx_p").write_text("0\n")
    assert main(["tune", "export", "--to", "tmpfiles", "--sysfs", str(tree), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (file,) = document["files"]
    assert file["text"].count("\nw ") == 15
    assert "hisi_ptt0_2/tune/qos_tx_p - - - - 0" in file["text"]
    assert document["root"] is None


def test_default_has_nothing_to_make_permanent_where_nothing_was_changed(tree: Path) -> None:
    assert main(["tune", "export", "default", "--sysfs", str(tree)]) == 2
    assert main(["tune", "set", "hisi_ptt0_0", "qos_tx_p=2", "--sysfs", str(tree)]) == 0
    assert main(["tune", "export", "default", "--sysfs", str(tree)]) == 0


def test_an_unknown_target(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["storage", "--demo", "--to", "sysv"], ["--uninstall", "--to", "sysv"]):
        assert main(["tune", "export", *arguments, "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "unknown-target"


class Rc(Target):
    """A toy: lines of a shell script."""

    name = "rc-local"
    meaning = "a script"
    limits = "none"

    def files(self, values: PermanentValues) -> tuple[PermanentFile, ...]:
        lines = (f"echo {value} > /sys/bus/event_source/devices/{device}/tune/{attribute}\n" for device, attribute, value in values)
        return (PermanentFile("/etc/rc.local", "".join(lines)),)

    def activation(self, values: PermanentValues) -> tuple[str, ...]:
        return ("sh /etc/rc.local",)


@pytest.fixture
def toy() -> Iterator[None]:
    TARGETS.names()
    TARGETS.add("rc-local", Rc())
    yield
    del TARGETS._things["rc-local"]


def test_a_new_target_is_one_class(toy: None, tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tune", "export", "storage", "--to", "rc-local", "--sysfs", str(tree)]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert text.count("echo 2 > ") == 3
    root = tmp_path / "root"
    root.mkdir()
    assert main([*command, "--install", "--yes", "--root", str(root)]) == 0
    assert (root / "etc/rc.local").read_text() == text
    assert main(["tune", "export", "--uninstall", "--to", "rc-local", "--yes", "--root", str(root)]) == 0
    assert not (root / "etc").exists()


def test_a_service_in_an_image_runs_the_ptttool_that_is_there(tree: Path, tmp_path: Path) -> None:
    devices = list_devices(TreeSource(tree))
    image = tmp_path / "image"

    def started(program: str | None = None) -> str:
        found = export_profile("systemd", Profile("p", {"hisi_ptt0_0": {"qos_tx_p": 2}}), devices, root=image, program=program)
        assert found.diagnostics == ()
        return next(line for line in found.files[0].text.splitlines() if line.startswith("ExecStart="))

    with pytest.raises(UsageError) as refused:
        started()
    assert refused.value.code == "no-program"
    assert started("/srv/bin/ptttool") == "ExecStart=/srv/bin/ptttool tune apply -"
    with pytest.raises(UsageError):
        started("bin/ptttool")
    (image / "usr/local/bin").mkdir(parents=True)
    (image / "usr/local/bin/ptttool").symlink_to("/opt/ptttool/bin/ptttool")
    assert started() == "ExecStart=/usr/local/bin/ptttool tune apply -"
