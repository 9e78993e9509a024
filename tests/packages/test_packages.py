"""The Debian package and the RPM package: their recipes hold together."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from packages import build
from packages.bundle.assemble import SHELLS, settings
from ptttool.cli.main import main
from tests import ROOT

pytestmark = pytest.mark.slow

SYSTEM = build.HERE / "system"
SPEC = build.HERE / "rpm" / "ptttool.spec"
RULES = build.HERE / "deb" / "debian" / "rules"
UNIT = SYSTEM / "ptttool-apply@.service"


@pytest.mark.parametrize(
    ("python", "package"),
    [("1.2.3", "1.2.3"), ("0.2.0.dev0", "0.2.0~dev0"), ("1.0rc1", "1.0~rc1"), ("1.0a2", "1.0~a2"), ("1.0.post1", "1.0.post1")],
)
def test_versions_before_a_release_sort_before_it(python: str, package: str) -> None:
    assert build.version_of(python) == package
    if "~" in package and shutil.which("dpkg"):
        subprocess.run(["dpkg", "--compare-versions", package, "lt", package.partition("~")[0]], check=True)


@pytest.mark.parametrize("recipe", [SPEC, RULES], ids=["rpm", "deb"])
def test_recipes_install_what_the_bundle_has_and_the_system_takes(recipe: Path) -> None:
    text = recipe.read_text(encoding="utf-8")
    for path in (*(Path(path).parts[0] for path in SHELLS.values()), "*.service", "*.timer", "60-ptttool.rules", "man"):
        assert path in text
    assert {path.suffix for path in SYSTEM.iterdir()} == {".service", ".timer", ".rules"}
    if recipe is SPEC:
        listed = text.partition("%files")[2]
        assert all(f"/{path.name}\n" in listed for path in SYSTEM.iterdir())


def test_the_spec_parses() -> None:
    if shutil.which("rpmspec") is None:
        pytest.fail("rpmspec is missing: the Makefile installs it")
    values = {"version_of": "1.2", "glibc": settings()["GLIBC"], "bundle": "/nonexistent", "system": str(SYSTEM)}
    command = ["rpmspec", "--parse", "--target=aarch64-linux", *(f"--define={name} {value}" for name, value in values.items()), str(SPEC)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    fields = dict(re.findall(r"(?m)^(\w+): *(.*)$", done.stdout))
    assert (fields["Name"], fields["Version"], fields["AutoReqProv"]) == ("ptttool", "1.2", "no")
    requires = " ".join(re.findall(r"(?m)^Requires: *(.*)$", done.stdout))
    assert {"libc.so.6(GLIBC_2.28)(64bit)", "libudev.so.1()(64bit)"} <= set(re.split(r",? +", requires))
    assert "%{" not in done.stdout.partition("%files")[2]


def test_the_units_are_sound(tmp_path: Path) -> None:
    """systemd reads them; the command is not installed here, so another stands for it."""
    if shutil.which("systemd-analyze") is None:
        pytest.fail("systemd-analyze is missing: the Makefile installs it")
    units = []
    for unit in (*SYSTEM.glob("*.service"), *SYSTEM.glob("*.timer")):
        units.append(tmp_path / unit.name)
        units[-1].write_text(unit.read_text(encoding="utf-8").replace("/usr/bin/ptttool", "/bin/true"), encoding="utf-8")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(units) == 3


@pytest.mark.parametrize("unit", sorted(SYSTEM.glob("*.service")), ids=lambda path: path.name)
def test_the_commands_of_units_have_these_options(unit: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words,) = re.findall(r"(?m)^ExecStart=/usr/bin/ptttool (.*)$", unit.read_text(encoding="utf-8"))
    command = [word for word in words.split() if not word.startswith(("-", "/", "$"))]
    assert main([*command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in words.split() if option.startswith("--"))


def test_the_rule_starts_the_unit(tmp_path: Path) -> None:
    """udev reads the rule, for a device of umockdev's, and would have systemd start the unit."""
    (tmp_path / "device").write_text("P: /devices/hisi_ptt0_2\nE: SUBSYSTEM=event_source\nA: type=12\n\n")
    of_this_test = 'mount -t tmpfs none /run && mkdir -p /run/udev/rules.d && cp "$1" /run/udev/rules.d'
    script = f'{of_this_test} && umockdev-run -d "$2" -- udevadm test --action=add /sys/devices/hisi_ptt0_2'
    command = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", script]
    done = subprocess.run([*command, "sh", SYSTEM / "60-ptttool.rules", tmp_path / "device"], capture_output=True, text=True, check=False)
    properties = dict(re.findall(r"(?m)^(\w+)=(.*)$", done.stdout))
    assert properties.get("SYSTEMD_WANTS") == UNIT.name.replace("@", "@hisi_ptt0_2"), done.stderr
    assert "systemd" in properties["TAGS"].split(":")


def test_the_profile_that_the_pages_name_is_the_one_that_is_applied() -> None:
    unit = UNIT.read_text(encoding="utf-8")
    (applied,) = re.findall(r"(?m)^ExecStart=.* (/etc/\S+)$", unit)
    assert f"ConditionPathExists={applied}" in unit
    assert applied in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
