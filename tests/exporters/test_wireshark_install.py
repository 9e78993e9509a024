"""The dissector in the folder of Lua plug-ins: where it goes, what it replaces, what root refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.errors import AccessError, OutputError
from ptttool.exporters.packets import wireshark
from ptttool.exporters.packets.wireshark import DISSECTOR, NAME, Change, install, plugin_folder, uninstall
from tests.support.tshark import tshark


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of this user alone, whatever the folder of temporary files is."""
    monkeypatch.setattr(wireshark, "_check_folder", lambda folder: None)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "WIRESHARK_CONFIG_DIR", "WIRESHARK_PLUGIN_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


def test_tshark_loads_what_was_installed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wireshark", "install", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["change"], result["by_tshark"]) == ("installed", True)
    path = Path(result["path"])
    assert path.is_relative_to(home)
    assert path.read_bytes() == DISSECTOR.read_bytes()
    assert "pcie.tlp.completion_in" in tshark(home, "-G", "fields", dissector=None).stdout
    assert main(["wireshark", "install", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["change"] == "unchanged"
    assert main(["wireshark", "install", "--uninstall", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["change"] == "removed"
    assert "pcie.tlp" not in tshark(home, "-G", "fields", dissector=None).stdout


def test_without_tshark_it_is_the_documented_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert plugin_folder() == (home / ".local/lib/wireshark/plugins", False)
    assert main(["wireshark", "install"]) == 0
    assert (home / ".local/lib/wireshark/plugins" / NAME).exists()


def test_an_older_version_is_replaced_and_another_file_is_not(home: Path) -> None:
    path = home / NAME
    path.write_text("-- ptttool: an older one\n")
    assert install(home).change is Change.UPDATED
    path.write_text("-- mine\n")
    for act in (install, uninstall):
        with pytest.raises(OutputError) as caught:
            act(home)
        assert caught.value.code == "exists"
        assert path.read_text() == "-- mine\n"
    assert install(home, force=True).change is Change.UPDATED
    assert uninstall(home).change is Change.REMOVED
    assert uninstall(home).change is Change.ABSENT


def test_a_link_is_not_followed(home: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("-- ptttool: reached by a link\n")
    (home / NAME).symlink_to(target)
    with pytest.raises(OutputError):
        install(home)
    install(home, force=True)
    assert not (home / NAME).is_symlink()
    assert target.read_text() == "-- ptttool: reached by a link\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has this check")
def test_root_writes_nothing_in_folders_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    os.chown(folder, 1234, 1234)
    for act in (install, uninstall):
        with pytest.raises(AccessError) as caught:
            act(folder)
        assert caught.value.code == "unsafe-folder"
    assert not list(folder.iterdir())


def test_the_path_is_that_of_the_shipped_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wireshark", "path"]) == 0
    assert Path(capsys.readouterr().out.strip()).read_bytes().startswith(b"-- ptttool:")
