"""``ptttool collect``: the archive, what it lists, and that it reads as the machine does."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from ptttool.cli.main import main
from tests.support.machines import NEW, document, run, umockdev


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    return capsys.readouterr().out


@pytest.mark.parametrize("command", ["list", "list --tree", "list 0_2 -v", "filters", "tune show", "list --json", "doctor"])
def test_the_archive_reads_as_the_demo(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "machine.tar.gz")
    out_of(capsys, "collect", "--demo", "--hostname", "-o", path)
    code = 1 if command == "doctor" else 0
    shown = [out_of(capsys, *command.split(), *machine, code=code) for machine in (["--demo"], ["--sysfs", path])]
    assert shown[0].replace("the demo machine", path) == shown[1]


def test_the_archive_reads_as_the_machine(tmp_path: Path) -> None:
    """Under umockdev, through libudev."""
    path = tmp_path / "machine.tar.gz"
    prefix = umockdev(NEW, tmp_path)
    written = document(run(["collect", "--json", "-o", str(path)], prefix=prefix))
    assert written["refused"] == []
    live = document(run(["list", "--json"], prefix=umockdev(NEW, tmp_path)))
    found = document(run(["list", "--json", "--sysfs", str(path)]))
    for one in (live, found):
        del one["origin"], one["hostname"]
    assert found == live


def test_what_is_listed_is_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.tar.gz"
    planned = json.loads(out_of(capsys, "collect", "--demo", "--dry-run", "--json", "-o", str(path)))
    assert (planned["file"], planned["bytes"], path.exists()) == (None, None, False)
    done = json.loads(out_of(capsys, "collect", "--demo", "--json", "-o", str(path)))
    assert (done["file"], done["bytes"]) == (str(path), path.stat().st_size)
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(path) as tar:
        assert {member.name.removeprefix("machine") for member in tar if member.isreg()} == {one["path"] for one in done["files"]}
        assert not [member for member in tar.getmembers() if not (member.isreg() or member.issym() or member.isdir())]
    assert {one["path"] for one in done["files"]} == {one["path"] for one in planned["files"]}
    assert sum(one["files"] for one in done["parts"]) == len(done["files"])
    text = out_of(capsys, "collect", "--demo", "--dry-run")
    assert all(one["path"] in text for one in done["files"])


def test_an_archive_that_is_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "machine.tar.gz"
    path.write_text("mine")
    error = json.loads(out_of(capsys, "collect", "--demo", "--json", "-o", str(path), code=6))["error"]
    assert (error["code"], path.read_text()) == ("exists", "mine")
    out_of(capsys, "collect", "--demo", "--force", "-o", str(path))
    assert tarfile.is_tarfile(path)


def test_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["collect", "--demo", "-o", "-"]) == 0
    path = tmp_path / "piped.tar.gz"
    path.write_bytes(capfdbinary.readouterr().out)
    assert main(["list", "--sysfs", str(path)]) == 0
    assert main(["collect", "--demo", "-o", "-", "--json"]) == 2


def test_a_name_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    out_of(capsys, "collect", "--demo")
    (found,) = tmp_path.iterdir()
    assert found.match("ptttool-*.tar.gz")


def test_a_machine_without_ptt_devices_is_collected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sys/devices").mkdir(parents=True)
    done = json.loads(out_of(capsys, "collect", "--json", "--sysfs", str(tmp_path), "-o", str(tmp_path / "c.tar.gz")))
    assert done["bytes"]
