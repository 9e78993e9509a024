"""Recorded trees: links stay inside, what is no tree is said, sosreports with holes still tell what they know."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from pathlib import Path

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.errors import AccessError, InputError
from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.files import FolderFiles
from ptttool.machine.sources.tree import TreeSource
from tests.support.machines import BUS, MACHINES, NEW, OLD, copy_of, document, run, with_recorded_modes

PTT = f"{BUS}/0000:00:09.0/hisi_ptt0_2"


def small_tree(root: Path) -> Path:
    """The least that is a sysfs."""
    (root / "sys/bus").mkdir(parents=True)
    (root / "sys/devices").mkdir()
    (root / "sys/class").mkdir()
    return root


class TestFolders:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="no such file or folder") as caught:
            TreeSource(tmp_path / "nowhere")
        assert (caught.value.code, caught.value.exit_code) == ("no-such-folder", 6)

    @pytest.mark.parametrize("content", [None, "sys", "sys/kernel"])
    def test_without_a_sysfs(self, tmp_path: Path, content: str | None) -> None:
        if content is not None:
            (tmp_path / content).mkdir(parents=True)
        with pytest.raises(InputError) as caught:
            TreeSource(tmp_path)
        assert caught.value.code == "no-sysfs"

    def test_forbidden(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(path: str) -> list[str]:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

        monkeypatch.setattr(os, "listdir", refuse)
        with pytest.raises(AccessError, match="Permission denied") as caught:
            TreeSource(tmp_path)
        assert caught.value.exit_code == 4

    def test_named_through_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(MACHINES / NEW)
        assert PTT in TreeSource(tmp_path / "link").devices("event_source")

    def test_pyfakefs(self, fs: FakeFilesystem) -> None:
        """The same code over a faked file system: nothing reaches past Python's file functions."""
        fs.add_real_directory(MACHINES / NEW, target_path="/recorded", read_only=False)
        assert not Path(MACHINES / NEW).exists()
        machine = read_machine(TreeSource("/recorded"))
        assert [device.name for device in machine.devices] == ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]
        assert [str(one.address) for one in machine.devices[1].root_ports] == ["0000:00:14.0", "0000:00:15.0"]


class TestLinks:
    """A foreign tree is read, never followed out of."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        (tmp_path / "secret").write_text("of the host")
        (tmp_path / "etc").mkdir()
        (tmp_path / "etc/passwd").write_text("of the host")
        return small_tree(tmp_path / "tree")

    @pytest.mark.parametrize("target", ["../../secret", "../../../../../../../../etc/passwd", "{tmp}/secret", "/etc/passwd"])
    def test_links_out_of_the_tree(self, tree: Path, target: str) -> None:
        (tree / "sys/devices/out").symlink_to(target.format(tmp=tree.parent))
        for root in (tree, tree / "sys"):
            with pytest.raises(FileNotFoundError):
                TreeSource(root).read("/sys/devices/out")

    @pytest.mark.parametrize("path", ["/sys/../../secret", "/../secret", "/sys/../../../../../etc/passwd", "/sys/devices/../../../secret"])
    def test_paths_out_of_the_tree(self, tree: Path, path: str) -> None:
        for root in (tree, tree / "sys"):
            with pytest.raises(FileNotFoundError):
                TreeSource(root).read(path)

    def test_a_link_to_a_folder_outside(self, tree: Path) -> None:
        (tree / "sys/bus/event_source").symlink_to(tree.parent)
        assert TreeSource(tree).devices("event_source") == []

    def test_absolute_links_are_of_the_recorded_machine(self, tree: Path) -> None:
        (tree / "sys/devices/hisi_ptt0_0").mkdir()
        (tree / "sys/bus/event_source/devices").mkdir(parents=True)
        (tree / "sys/bus/event_source/devices/hisi_ptt0_0").symlink_to("/sys/devices/hisi_ptt0_0")
        for root in (tree, tree / "sys"):
            assert TreeSource(root).devices("event_source") == ["/sys/devices/hisi_ptt0_0"]

    def test_loops(self, tree: Path) -> None:
        (tree / "sys/devices/a").symlink_to("b")
        (tree / "sys/devices/b").symlink_to("a")
        (tree / "sys/class/net").mkdir()
        (tree / "sys/class/net/eth0").symlink_to("../../devices/a")
        source = TreeSource(tree)
        with pytest.raises(OSError) as caught:
            source.read("/sys/devices/a")
        assert caught.value.errno == errno.ELOOP
        assert source.devices("net") == []

    def test_pipes_and_folders_are_no_files(self, tree: Path) -> None:
        os.mkfifo(tree / "sys/devices/pipe")
        source = TreeSource(tree)
        with pytest.raises(OSError) as caught:
            source.read("/sys/devices/pipe")
        assert caught.value.errno == errno.EINVAL
        with pytest.raises(IsADirectoryError):
            source.read("/sys/devices")

    def test_endless_files_are_cut(self, tree: Path) -> None:
        with (tree / "sys/devices/big").open("wb") as file:
            file.truncate(1 << 30)
        assert len(TreeSource(tree).read("/sys/devices/big")) == 1 << 16


class TestSosreports:
    """As sosreport lays a machine out; collections differ in what they leave out."""

    @pytest.fixture
    def report(self, tmp_path: Path) -> Path:
        tree = copy_of(NEW, tmp_path)
        database = tree / "sos_commands/devices/udevadm_info_--export-db"
        database.parent.mkdir(parents=True)
        (tree / "udev.txt").rename(database)
        return tree

    def test_names_come_from_its_udev_database(self, report: Path) -> None:
        whole = read_machine(TreeSource(MACHINES / NEW))
        for root in (report, report / "sys"):
            machine = read_machine(TreeSource(root))
            assert machine.functions == whole.functions
            assert machine.devices == whole.devices

    def test_without_the_links_of_the_buses(self, report: Path) -> None:
        shutil.rmtree(report / "sys/bus")
        shutil.rmtree(report / "sys/class")
        whole = read_machine(TreeSource(MACHINES / NEW))
        machine = read_machine(TreeSource(report))
        assert machine.functions == whole.functions
        assert machine.devices == whole.devices

    def test_without_links_and_database(self, report: Path) -> None:
        shutil.rmtree(report / "sys/bus")
        shutil.rmtree(report / "sos_commands")
        whole = read_machine(TreeSource(MACHINES / NEW))
        machine = read_machine(TreeSource(report))
        assert machine.devices == whole.devices
        assert machine.functions.keys() == whole.functions.keys()

    def test_without_any_pci_function(self, report: Path) -> None:
        shutil.rmtree(report / "sys/bus")
        shutil.rmtree(report / "sys/devices")
        shutil.rmtree(report / "sos_commands")
        machine = read_machine(TreeSource(report))
        assert machine.devices == ()
        assert [one.code for one in machine.diagnostics] == ["no-pci-functions"]

    def test_copied_without_links(self, tmp_path: Path) -> None:
        """``cp -rL`` of the folders of devices: the topology then comes from the bridges' bus numbers."""
        tree = tmp_path / "copy"
        flat = MACHINES / NEW / "sys/bus/pci/devices"
        for function in flat.iterdir():
            target = tree / "sys/bus/pci/devices" / function.name
            target.mkdir(parents=True)
            for file in function.iterdir():
                if file.is_file():
                    shutil.copy(file, target)
        machine = read_machine(TreeSource(tree))
        whole = read_machine(TreeSource(MACHINES / NEW))
        assert {a: f.parent for a, f in machine.functions.items()} == {a: f.parent for a, f in whole.functions.items()}

    def test_with_the_udev_database_alone(self, tmp_path: Path) -> None:
        tree = small_tree(tmp_path)
        shutil.copy(MACHINES / NEW / "udev.txt", tree)
        machine = read_machine(TreeSource(tree))
        assert machine.devices == ()
        assert [one.code for one in machine.diagnostics].count("device-left-out") == 3
        nvme = next(f for f in machine.functions.values() if f.address.short == "06:00.0")
        assert (nvme.vendor, nvme.device, nvme.driver, nvme.class_code) == (0x1B36, 0x0010, "nvme", 0x010802)
        assert nvme.kernel_names == ("nvme1", "nvme1n1")
        assert nvme.parent is not None
        assert nvme.parent.short == "05:00.0"

    def test_packed_database(self, tmp_path: Path) -> None:
        tree = copy_of(OLD, tmp_path)
        (tree / "udev.txt.gz").write_bytes(gzip.compress((tree / "udev.txt").read_bytes()))
        (tree / "udev.txt").unlink()
        assert read_machine(TreeSource(tree)).functions == read_machine(TreeSource(MACHINES / OLD)).functions

    def test_damaged_packed_database(self, tmp_path: Path) -> None:
        tree = copy_of(OLD, tmp_path)
        (tree / "udev.txt.gz").write_bytes(gzip.compress((tree / "udev.txt").read_bytes())[:1000])
        (tree / "udev.txt").unlink()
        assert len(read_machine(TreeSource(tree)).functions) == 18


class TestPermissions:
    """The files that only root reads: their names still tell the values, and why is said."""

    def test_filters_are_computed_from_the_names(self, tmp_path: Path) -> None:
        tree, as_user = with_recorded_modes(NEW, tmp_path)
        seen = document(run(["list", "--json", "--sysfs", str(tree)], prefix=as_user))
        whole = document(run(["list", "--json", "--sysfs", str(MACHINES / NEW)]))
        assert len(seen["devices"]) == 3
        for mine, roots in zip(seen["devices"], whole["devices"], strict=True):
            for kind in ("root_ports", "requesters"):
                assert mine[kind] == [{**one, "computed": True} for one in roots[kind]]
            assert mine["multiselect"] == {"root_ports": True, "requesters": False}
            assert mine["ports_known"]
            assert {event["problem"] for event in mine["tune"]} == {"Permission denied (needs root)"}
            assert [event["name"] for event in mine["tune"]] == [event["name"] for event in roots["tune"]]
            assert mine["format"] == roots["format"]
            assert mine["cpus"] == roots["cpus"]
        found = [[(one["code"], one["details"]) for one in device["diagnostics"]] for device in seen["devices"]]
        assert ("unreadable-filters", {"file": "root_port_filters", "count": 2}) in found[1]
        assert ("unreadable-multiselect", {"file": "requester_filters/multiselect"}) in found[2]

    def test_it_is_said(self, tmp_path: Path) -> None:
        tree, as_user = with_recorded_modes(NEW, tmp_path)
        done = run(["filters", "--sysfs", str(tree)], prefix=as_user)
        assert "0x80100  0000:00:14.0" in done.stdout
        assert "hisi_ptt0_2: root ports (several may be combined; computed from the PCI addresses)" in done.stdout
        assert "Permission denied (needs root)" in done.stderr

    def test_a_folder_of_somebody_else(self, tmp_path: Path) -> None:
        tree, as_user = with_recorded_modes(NEW, tmp_path)
        (tree / "sys").chmod(0o700 if as_user else 0)
        done = run(["list", "--json", "--sysfs", str(tree)], prefix=as_user, check=4)
        (tree / "sys").chmod(0o755)
        assert document(done)["error"]["code"] == "no-permission"
        assert "Permission denied" in done.stderr


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    """Links are resolved before the file is opened; who owns the tree can exchange a folder in between."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tree").mkdir()
    file = tmp_path / "elsewhere" / "attribute"
    file.write_text("keep")
    (tmp_path / "tree" / "tune").symlink_to("../elsewhere")
    files = FolderFiles(str(tmp_path / "tree"), sysfs_only=False)
    for use in (lambda: files.write("/tune/attribute", b"2\n"), lambda: files.read("/tune/attribute", 10)):
        with pytest.raises(OSError) as caught:
            use()
        assert caught.value.errno == errno.ELOOP
    assert file.read_text() == "keep"
