"""Somebody else changes the folder while an output is written: at each call to the file system in turn, so that no moment is left out.

The folder can be written by everyone: that makes its links those of others, for root and for any other user.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import count, product
from pathlib import Path

import pytest

from ptttool.errors import PtttoolError
from ptttool.files import renaming
from ptttool.files.atomic import output_file
from tests.files.moments import at_call

VICTIM = b"of somebody else"


class Folder:
    """A folder of others with the name ``out``, and a file elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path / "folder"
        self.path.mkdir()
        self.path.chmod(0o777)
        self.out = self.path / "out"
        self.victim = path / "victim"
        self.victim.write_bytes(VICTIM)
        self.victim.chmod(0o600)

    def make(self, kind: str) -> None:
        """Put something where the output is to be."""
        with_name = self.path / "made"
        match kind:
            case "nothing":
                self.out.unlink(missing_ok=True)
                return
            case "link":
                with_name.symlink_to(self.victim)
            case "dangling":
                with_name.symlink_to(self.victim.with_name("new"))
            case "file":
                with_name.write_bytes(b"theirs")
        with_name.rename(self.out)

    def check(self, force: bool, kinds: tuple[str, str], ended: bool) -> None:
        """Nothing outside has changed, and what is here is whole."""
        assert self.victim.read_bytes() == VICTIM
        assert stat.S_IMODE(self.victim.stat().st_mode) == 0o600
        assert {path.name for path in self.path.parent.iterdir()} == {"folder", "victim"}
        assert {path.name for path in self.path.iterdir()} <= {"out"}
        if not self.out.is_symlink() and self.out.is_file():
            content = self.out.read_bytes()
            assert content in (b"new", b"theirs")
            # Without force, no file of others is ever replaced.
            assert force or content == b"theirs" or (ended and kinds[1] != "file")


KINDS = ("nothing", "link", "dangling", "file")


@pytest.mark.slow
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kinds", [pair for pair in product(KINDS, KINDS) if pair[0] != pair[1]], ids="-".join)
def test_a_name_that_changes_at_any_moment(tmp_path: Path, kinds: tuple[str, str], force: bool) -> None:
    for number in count():
        place = tmp_path / str(number)
        place.mkdir()
        folder = Folder(place)
        folder.make(kinds[0])
        ended = False
        with at_call(number, lambda folder=folder: folder.make(kinds[1])) as reached:  # type: ignore[misc]
            try:
                with output_file(folder.out, force=force) as file:
                    file.write(b"new")
                ended = True
            except PtttoolError as error:
                assert error.code in ("exists", "untrusted-link", "cannot-write")
        folder.check(force, kinds if reached else (kinds[0], kinds[0]), ended)
        if not reached:
            break
    # Every call of the longest run was reached, in every case at least the ones that look at the name.
    assert number >= 3


def test_a_file_that_appears_while_another_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(PtttoolError) as caught, output_file(out) as file:
        file.write(b"new")
        out.write_bytes(b"theirs")
    assert caught.value.code == "exists"
    assert out.read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_file_system_without_renameat2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hard_links: bool) -> None:
    monkeypatch.setattr(renaming, "renameat2", lambda *_: errno.EINVAL)
    if not hard_links:

        def link(*_: object, **__: object) -> None:
            raise PermissionError(errno.EPERM, "no hard links")

        monkeypatch.setattr(os, "link", link)
    test_a_file_that_appears_while_another_is_written(tmp_path)
    with output_file(tmp_path / "other") as file:
        file.write(b"new")
    assert (tmp_path / "other").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_a_pipe_that_changes_to_a_link(tmp_path: Path) -> None:
    """What is written in place is what was looked at."""
    for number in count():
        place = tmp_path / str(number)
        place.mkdir()
        folder = Folder(place)
        os.mkfifo(folder.out)
        reader = os.open(folder.out, os.O_RDONLY | os.O_NONBLOCK)
        with at_call(number, lambda folder=folder: folder.make("link")) as reached:  # type: ignore[misc]
            try:
                with output_file(folder.out, force=True) as file:
                    file.write(b"new")
            except PtttoolError as error:
                assert error.code == "cannot-write"
        os.close(reader)
        assert folder.victim.read_bytes() == VICTIM
        if not reached:
            break


def test_a_folder_of_the_path_that_changes_to_a_link(tmp_path: Path) -> None:
    for number in count():
        place = tmp_path / str(number)
        place.mkdir()
        folder = Folder(place)
        elsewhere = place / "elsewhere"
        elsewhere.mkdir()
        inner = folder.path / "inner"
        inner.mkdir()

        def switch(folder: Folder = folder, inner: Path = inner, elsewhere: Path = elsewhere) -> None:
            inner.rename(folder.path / "moved")
            inner.symlink_to(elsewhere)
            if os.geteuid() == 0:
                os.chown(inner, 65534, 65534, follow_symlinks=False)

        with at_call(number, switch) as reached:
            try:
                with output_file(inner / "out") as file:
                    file.write(b"new")
            except PtttoolError as error:
                assert error.code in ("untrusted-link", "cannot-write")
        if os.geteuid() == 0:
            assert not [*elsewhere.iterdir()]
        if not reached:
            break
