"""Which links lead to an output, and which do not."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ptttool.errors import OutputError, PtttoolError
from ptttool.files.atomic import output_file
from ptttool.files.locations import located, opened_folder

OTHER = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def write(path: Path | str, *, force: bool = False) -> None:
    with output_file(path, force=force) as file:
        file.write(b"new")


def give(path: Path) -> None:
    os.chown(path, OTHER, OTHER, follow_symlinks=False)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A folder that everyone may write."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture(autouse=True)
def descriptors() -> Iterator[None]:
    """No test leaves a file open."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    yield
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_own_links_in_own_folders(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "deep").mkdir(parents=True)
    (tmp_path / "folder").symlink_to("real/deep")
    (tmp_path / "again").symlink_to(tmp_path / "folder")
    (tmp_path / "file").symlink_to("again/../out")
    write(tmp_path / "file")
    assert (real / "out").read_bytes() == b"new"
    write(tmp_path / "again" / ".." / "deep" / "." / "more")
    assert (real / "deep" / "more").read_bytes() == b"new"
    assert (tmp_path / "file").is_symlink()


def test_a_loop(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    for path in (tmp_path / "one", tmp_path / "one" / "out"):
        with pytest.raises(OutputError) as caught:
            write(path)
        assert caught.value.code == "cannot-write"


def test_a_link_in_a_folder_that_everyone_may_write(theirs: Path, tmp_path: Path) -> None:
    (theirs / "out").symlink_to(tmp_path / "target")
    with pytest.raises(OutputError) as caught:
        write(theirs / "out")
    assert caught.value.code == "untrusted-link"
    write(theirs / "out", force=True)
    assert not (theirs / "out").is_symlink()
    assert (theirs / "out").read_bytes() == b"new"
    assert not (tmp_path / "target").exists()


def test_an_own_link_that_leads_to_one_of_others(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").symlink_to(theirs / "out")
    (theirs / "out").symlink_to(tmp_path / "target")
    with pytest.raises(OutputError) as caught:
        write(tmp_path / "mine")
    assert caught.value.code == "untrusted-link"
    write(tmp_path / "mine", force=True)
    assert (tmp_path / "mine").is_symlink() and not (theirs / "out").is_symlink()


@AS_ROOT
def test_a_folder_and_a_link_of_another_user(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path / "target")
    give(folder)
    with pytest.raises(OutputError) as caught:
        write(folder / "out")
    assert caught.value.code == "untrusted-link"
    os.chown(folder, 0, 0)
    give(folder / "out")
    with pytest.raises(OutputError) as caught:
        write(folder / "out")
    assert caught.value.code == "untrusted-link"


@AS_ROOT
def test_a_link_of_another_user_to_a_folder(tmp_path: Path) -> None:
    """It is followed if it leads to a folder of that user, who can change what is there anyway."""
    home, mine = tmp_path / "home", tmp_path / "mine"
    for folder in (home, home / "data", mine):
        folder.mkdir()
    (home / "good").symlink_to("data")
    (home / "bad").symlink_to(mine)
    (home / "by-way").symlink_to("bad")
    for path in (home / "data", home, home / "good", home / "bad", home / "by-way"):
        give(path)
    write(home / "good" / "out")
    assert (home / "data" / "out").read_bytes() == b"new"
    for name in ("bad", "by-way"):
        with pytest.raises(OutputError) as caught:
            write(home / name / "out")
        assert caught.value.code == "untrusted-link"
        with pytest.raises(OutputError) as caught, located(home / name, folder=True):
            pass
        assert caught.value.code == "untrusted-link"
    assert not [*mine.iterdir()]
    with located(home / "good", folder=True) as location:
        assert location.name == "data"
    with opened_folder(home / "good") as opened:
        assert os.path.samestat(os.fstat(opened), (home / "data").stat())


def user_with_own_group() -> pwd.struct_passwd | None:
    for user in pwd.getpwall():
        with suppress(KeyError):
            group = grp.getgrgid(user.pw_gid)
            if user.pw_uid and group.gr_name == user.pw_name and not group.gr_mem:
                return user
    return None


@AS_ROOT
@pytest.mark.parametrize(("mode", "own_group", "follows"), [(0o775, True, True), (0o775, False, False), (0o777, True, False)])
def test_a_folder_of_the_users_own_group(tmp_path: Path, mode: int, own_group: bool, follows: bool) -> None:
    """With umask 002, all folders of a user can be written by the group, which is the user's own."""
    user = user_with_own_group()
    if user is None:
        pytest.skip("no user has a group of the same name")
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    os.chown(folder, user.pw_uid, user.pw_gid if own_group else OTHER)
    (folder / "out").symlink_to("target")
    os.chown(folder / "out", user.pw_uid, user.pw_gid, follow_symlinks=False)
    code = (
        "import os, sys; import grp, pwd; from ptttool.errors import OutputError; from ptttool.files.atomic import output_file\n"
        "os.chdir(sys.argv[1]); os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[2]))\n"
        "try:\n"
        "    with output_file('out'): pass\n"
        "except OutputError as error: print(error.code)"
    )
    line = [sys.executable, "-c", code, str(folder), str(user.pw_uid), str(user.pw_gid)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    assert (done.stdout.strip(), (folder / "target").exists()) == (("", True) if follows else ("untrusted-link", False))


@AS_ROOT
def test_a_second_name_of_a_link_of_root(tmp_path: Path) -> None:
    """Another user can give it a place in a folder of theirs."""
    mine, home = tmp_path / "mine", tmp_path / "home"
    mine.mkdir()
    home.mkdir()
    (mine / "link").symlink_to(mine)
    os.link(mine / "link", home / "link", follow_symlinks=False)
    give(home)
    with pytest.raises(OutputError) as caught:
        write(home / "link" / "out")
    assert caught.value.code == "untrusted-link"


@AS_ROOT
def test_what_is_for_this_user_alone_does_not_go_to_a_pipe_of_another(theirs: Path) -> None:
    os.mkfifo(theirs / "pipe")
    give(theirs / "pipe")
    reader = os.open(theirs / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(PtttoolError) as caught, output_file(theirs / "pipe", force=True, mode=0o600) as file:
            file.write(b"secret")
        assert caught.value.code == "untrusted-pipe"
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


@AS_ROOT
def test_a_pipe_of_another_user_that_nobody_reads_is_not_waited_for(theirs: Path) -> None:
    os.mkfifo(theirs / "pipe")
    give(theirs / "pipe")
    with pytest.raises(OutputError) as caught:
        write(theirs / "pipe")
    assert caught.value.code == "no-reader"


@AS_ROOT
def test_a_pipe_of_another_user_who_stops_reading_is_given_up(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptttool.files.atomic._PATIENCE", 0.1)
    os.mkfifo(theirs / "pipe")
    give(theirs / "pipe")
    reader = os.open(theirs / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(OutputError) as caught, output_file(theirs / "pipe", force=True) as file:
            file.write(bytes(1 << 20))
        assert caught.value.code == "no-reader"
        with pytest.raises(TimeoutError), output_file(theirs / "pipe", force=True):
            raise TimeoutError  # of what the caller reads meanwhile: that is not the pipe's
    finally:
        os.close(reader)


@AS_ROOT
@pytest.mark.parametrize("sticky", [False, True])
def test_a_pipe_of_another_user(theirs: Path, sticky: bool) -> None:
    if sticky:
        theirs.chmod(0o1777)
    os.mkfifo(theirs / "pipe")
    give(theirs / "pipe")
    reader = os.open(theirs / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        if sticky:
            with pytest.raises(PtttoolError) as caught:
                write(theirs / "pipe")
            assert caught.value.code == "untrusted-pipe"
        else:
            write(theirs / "pipe")
            assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)


@AS_ROOT
def test_the_mode_of_a_file_of_another_user(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    path.chmod(0o4755)
    write(path, force=True)
    assert path.stat().st_mode & 0o7777 == 0o755
    path.chmod(0o666)
    give(path)
    before = os.umask(0o077)
    try:
        write(path, force=True)
    finally:
        os.umask(before)
    assert (path.stat().st_mode & 0o7777, path.stat().st_uid) == (0o600, 0)


def test_names_of_open_files(tmp_path: Path) -> None:
    """What a shell gives for ``>(command)``, and a descriptor of a folder."""
    reading, writing = os.pipe()
    try:
        write(f"/dev/fd/{writing}")
        assert os.read(reading, 10) == b"new"
    finally:
        os.close(reading)
        os.close(writing)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        write(f"/proc/self/fd/{folder}/out")
    finally:
        os.close(folder)
    assert (tmp_path / "out").read_bytes() == b"new"


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    write("out")
    write("../other")
    assert (tmp_path / "folder" / "out").exists() and (tmp_path / "other").exists()
    for path in ("", ".", "..", "/", "../folder/"):
        with pytest.raises(OutputError) as caught:
            write(path)
        assert caught.value.code == "is-a-folder"


@AS_ROOT
def test_a_folder_that_can_be_searched_and_not_read(tmp_path: Path) -> None:
    """An ordinary user writes into it."""
    folder = tmp_path / "inbox"
    folder.mkdir()
    folder.chmod(0o733)
    code = (
        "import os, sys; from ptttool.files.atomic import output_file\n"
        "os.chdir(sys.argv[1]); os.setuid(int(sys.argv[2]))\n"
        "with output_file('out'): pass"
    )
    subprocess.run([sys.executable, "-c", code, str(folder), str(OTHER)], check=True)
    assert (folder / "out").stat().st_uid == OTHER
