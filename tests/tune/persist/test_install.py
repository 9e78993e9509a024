"""Install and uninstall: shown first, whole or not at all, through no link, and removed as it was written."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.cli.main import main
from ptttool.errors import PtttoolError
from ptttool.files.locks import hold
from ptttool.machine.discovery import list_devices
from ptttool.machine.sources.tree import TreeSource
from ptttool.tune.persist import rooted
from ptttool.tune.persist.export import Export, export_profile
from ptttool.tune.persist.install import install, plan_install, plan_uninstall, uninstall
from ptttool.tune.profiles.named import built_in_profile
from tests.support import machines

RULES = "etc/udev/rules.d/90-ptttool-tune.rules"
RECORD = "var/lib/ptttool/installed/udev.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "etc").mkdir(parents=True)
    return folder


def exported(name: str = "storage", target: str = "udev") -> Export:
    return export_profile(target, built_in_profile(name), list_devices(TreeSource(machines.MACHINES / machines.NEW)))


def put(root: Path, name: str = "storage", target: str = "udev") -> None:
    install(plan_install(exported(name, target), root))


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir() or path.is_symlink()}


def refused(code: str, root: Path, target: str = "udev") -> PtttoolError:
    before = everything(root)
    with pytest.raises(PtttoolError) as caught:
        install(plan_install(exported(target=target), root))
    assert caught.value.code == code
    assert everything(root) == before
    return caught.value


@pytest.mark.parametrize("target", ["udev", "systemd", "tmpfiles", "tuned"])
def test_what_is_installed_is_what_is_printed_and_goes_away_again(root: Path, target: str) -> None:
    export = exported(target=target)
    put(root, target=target)
    for file in export.files:
        path = root / file.path.lstrip("/")
        if file.is_link:
            assert str(path.readlink()) == file.text
        else:
            assert path.read_text() == file.text
            assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert not plan_install(export, root).is_needed
    uninstall(plan_uninstall(target, root))
    assert everything(root) == set()
    assert [path.name for path in (root / "etc").iterdir()] == []


def test_another_profile_takes_the_place(root: Path) -> None:
    put(root, "storage", "tuned")
    plan = plan_install(exported("network", "tuned"), root)
    assert plan.remove == ("/etc/tuned/ptttool-storage/tuned.conf",)
    install(plan)
    assert {name for name in everything(root) if name.startswith("etc")} == {"etc/tuned/ptttool-network/tuned.conf"}
    put(root, "storage")
    plan = plan_install(exported("network"), root)
    assert [file.path for file in plan.replace] == [f"/{RULES}"]
    assert [one.code for one in plan.diagnostics] == ["installed-twice"]
    install(plan)
    assert (root / RULES).read_text() == exported("network").files[0].text


def test_a_file_of_somebody_else_is_not_touched(root: Path) -> None:
    (root / RULES).parent.mkdir(parents=True)
    (root / RULES).write_text("mine\n")
    refused("exists", root)
    assert (root / RULES).read_text() == "mine\n"


def test_a_file_that_was_changed_is_not_touched(root: Path) -> None:
    put(root)
    (root / RULES).write_text("changed\n")
    with pytest.raises(PtttoolError) as caught:
        plan_install(exported("network"), root)
    assert caught.value.code == "exists"
    plan = plan_uninstall("udev", root)
    assert (plan.remove, plan.changed) == ((), (f"/{RULES}",))
    with pytest.raises(PtttoolError) as caught:
        uninstall(plan)
    assert caught.value.code == "changed-since-install"
    assert (root / RULES).read_text() == "changed\n"
    assert not (root / RECORD).exists()


def test_a_file_that_is_gone_already(root: Path) -> None:
    put(root, target="systemd")
    (root / "etc/systemd/system/ptttool-tune.service").unlink()
    plan = plan_uninstall("systemd", root)
    assert plan.gone == ("/etc/systemd/system/ptttool-tune.service",)
    uninstall(plan)
    assert everything(root) == set()


def test_what_others_put_into_the_folders_stays(root: Path) -> None:
    put(root)
    (root / RULES).with_name("10-own.rules").write_text("")
    uninstall(plan_uninstall("udev", root))
    assert everything(root) == {"etc/udev/rules.d/10-own.rules"}


def test_nothing_is_installed(root: Path) -> None:
    with pytest.raises(PtttoolError) as caught:
        plan_uninstall("udev", root)
    assert caught.value.code == "not-installed"


@pytest.mark.parametrize("link", ["etc/udev", "etc", "var", "var/lib"])
def test_links_on_the_way_are_not_followed(root: Path, tmp_path: Path, link: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = root / link
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        path.rmdir()
    path.symlink_to(elsewhere)
    refused("link-in-path", root)
    assert list(elsewhere.iterdir()) == []


def test_a_link_in_place_of_the_file_is_not_followed(root: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (root / RULES).parent.mkdir(parents=True)
    (root / RULES).symlink_to(victim)
    refused("exists", root)
    # Also where it took the place of what was installed.
    (root / RULES).unlink()
    put(root)
    (root / RULES).unlink()
    (root / RULES).symlink_to(victim)
    with pytest.raises(PtttoolError):
        uninstall(plan_uninstall("udev", root))
    assert victim.read_text() == "precious"
    assert (root / RULES).is_symlink()


@pytest.mark.parametrize("mode", [0o777, 0o1777])
@pytest.mark.parametrize("folder", ["etc/udev", "."])
def test_folders_that_others_can_write_are_refused(root: Path, folder: str, mode: int) -> None:
    (root / folder).mkdir(exist_ok=True)
    (root / folder).chmod(mode)
    refused("unsafe-folder", root)


@pytest.mark.parametrize("name", ["nowhere", "file"])
def test_a_root_that_is_not_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PtttoolError) as caught:
        plan_install(exported(), tmp_path / name)
    assert caught.value.code == "no-such-folder"


def test_a_folder_has_the_name_of_the_file(root: Path) -> None:
    (root / RULES).mkdir(parents=True)
    refused("not-a-file", root)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_a_disk_that_takes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Nothing incomplete has a name, and what was written is recorded."""

    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(rooted, "create_file", fail)
        assert refused({errno.ENOSPC: "disk-full", errno.EROFS: "read-only"}[number], root).exit_code == 6
    put(root)
    assert (root / RULES).exists()


def test_a_full_disk_after_the_record(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = rooted.Rooted.write

    def fail(self: rooted.Rooted, path: str, data: bytes, *, is_link: bool = False, replace: bool = False) -> None:
        if path.startswith("/etc"):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, path, data, is_link=is_link, replace=replace)

    with monkeypatch.context() as patch:
        patch.setattr(rooted.Rooted, "write", fail)
        with pytest.raises(OSError, match="No space"):
            put(root)
    uninstall(plan_uninstall("udev", root))
    assert everything(root) == set()


KILLED = """
import os, signal, sys
from pathlib import Path
from ptttool.tune.persist import rooted
from tests.tune.persist.test_install import put
write, count = rooted.Rooted.write, 0
def stopped(self, *arguments, **options):
    global count
    if count == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1
    write(self, *arguments, **options)
rooted.Rooted.write = stopped
put(Path(sys.argv[1]), "network", "systemd")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("before", "point", "removes"), [(True, 1, False), (True, 2, True), (False, 1, True), (False, 3, False)])
def test_killed_in_the_middle(root: Path, before: bool, point: int, removes: bool) -> None:
    """After the record, or after a file: the next run completes it, or removes it."""
    if before:
        put(root, "storage", "systemd")
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), str(point)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    plan = plan_uninstall("systemd", root)
    assert plan.changed == ()
    if removes:
        uninstall(plan)
        assert everything(root) == set()
    else:
        put(root, "network", "systemd")
        assert not plan_install(exported("network", "systemd"), root).is_needed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2}',
        '{"version": 1, "target": "tuned", "profile": "p", "files": {}, "folders": []}',
        '{"version": 1, "target": "udev", "profile": "p", "files": {"/etc/../../etc/passwd": ["x"]}, "folders": []}',
        '{"version": 1, "target": "udev", "profile": "p", "files": {"etc": ["x"]}, "folders": []}',
        '{"version": 1, "target": "udev", "profile": "p", "files": [], "folders": []}',
        "[" * 5000,
    ],
)
def test_a_damaged_record(root: Path, text: str) -> None:
    (root / RECORD).parent.mkdir(parents=True)
    (root / RECORD).write_text(text)
    for use in (lambda: plan_uninstall("udev", root), lambda: plan_install(exported(), root)):
        with pytest.raises(PtttoolError) as caught:
            use()
        assert caught.value.code == "record-damaged"


def test_ansible_is_not_installed(root: Path) -> None:
    refused("not-installable", root, "ansible")


def test_the_command(root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["tune", "export", "storage", "--demo", "--root", str(root)]
    # Without a terminal nobody can be asked; what would be written was shown.
    assert main([*command, "--install"]) == 2
    assert str(root / RULES) in capsys.readouterr().out
    assert everything(root) == set()
    assert main([*command, "--install", "--yes"]) == 0
    assert (root / RULES).exists()
    assert main([*command, "--install"]) == 0  # nothing to ask about
    assert main(["tune", "export", "--uninstall", "--root", str(root)]) == 2
    assert (root / RULES).exists()
    assert main(["tune", "export", "storage", "--uninstall", "--root", str(root)]) == 2
    capsys.readouterr()
    assert main(["tune", "export", "--uninstall", "--root", str(root), "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["removed"] == [f"/{RULES}"]
    assert everything(root) == set()


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 2), ("\n", 2), ("", 2)])
def test_it_asks_on_a_terminal(root: Path, answer: str, code: int) -> None:
    """A real terminal, and a real person's answer."""
    import pty

    words = [sys.executable, "-m", "ptttool", "tune", "export", "storage", "--demo", "--install", "--root", str(root)]
    child, terminal = pty.fork()
    if child == 0:
        os.execv(words[0], words)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(terminal, 1 << 16)
    os.write(terminal, answer.encode() or b"\x04")
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:  # the other side is closed
        pass
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == code
    assert (root / RULES).exists() == (code == 0)


def test_values_of_another_machine_are_not_installed_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "export", "storage", "--demo", "--install", "--yes", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "other-machine"


def test_two_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.tune.persist.install.WAIT", 0.1)
    with hold("tune-install", purpose="test"):
        assert main(["tune", "export", "storage", "--demo", "--install", "--yes", "--root", str(root)]) == 75
    assert everything(root) == set()
