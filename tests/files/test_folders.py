"""Output folders appear whole or not at all, and nothing that is there, or that others put there meanwhile, is replaced."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from ptttool.errors import PtttoolError
from ptttool.files.atomic import output_file
from ptttool.files.folders import output_folder
from ptttool.files.leftovers import SUFFIX
from tests.files.moments import at_call

NEW = {"a=1/part-1": b"new", "part-3": b"new"}
Change = Callable[[Path], None]


def fill(folder: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, *, meanwhile: Change | None = None) -> None:
    with output_folder(str(folder)) as unfinished:
        fill(Path(unfinished.path), NEW)
        if meanwhile is not None:
            meanwhile(folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def code_of(function: Callable[[], None]) -> str:
    with pytest.raises(PtttoolError) as caught:
        function()
    return caught.value.code


def test_a_new_folder_replaces_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out)
    assert content(out) == NEW
    fill(out, {"part-3": b"old"})
    before = content(out)
    assert code_of(lambda: write(out)) == "exists"
    assert content(out) == before
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_leaves_its_mode(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    out.chmod(0o2750)
    write(out)
    assert content(out) == NEW
    assert stat.S_IMODE(out.stat().st_mode) == 0o2750
    assert (names(tmp_path), names(out)) == (["out"], ["a=1", "part-3"])


@pytest.mark.parametrize("is_there", [False, True])
def test_a_failure_leaves_what_was_there(tmp_path: Path, is_there: bool) -> None:
    def fail(_folder: Path) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "out"
    if is_there:
        out.mkdir()
    before = names(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write(out, meanwhile=fail)
    assert names(tmp_path) == before
    assert not is_there or names(out) == []


def test_an_error_of_the_caller_stays_as_it_is(tmp_path: Path) -> None:
    def fail(_folder: Path) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write(tmp_path / "out", meanwhile=fail)
    assert names(tmp_path) == []


def add(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "notes").write_bytes(b"precious")


def add_file(folder: Path) -> None:
    if folder.exists():
        folder.rename(folder.parent / "moved")
    folder.write_bytes(b"precious")


def add_link(folder: Path) -> None:
    if folder.exists():
        folder.rename(folder.parent / "moved")
    (folder.parent / "elsewhere").mkdir()
    add(folder.parent / "elsewhere")
    folder.symlink_to("elsewhere")


def another_folder(folder: Path) -> None:
    if folder.exists():
        folder.rename(folder.parent / "moved")
    fill(folder, {"a=1/part-1": b"precious"})


CHANGES = (add, add_file, add_link, another_folder)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_there", [False, True])
def test_what_comes_at_any_moment_stays(tmp_path: Path, change: Change, is_there: bool) -> None:
    refused = 0
    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (out if is_there else place).mkdir(parents=True)
        late = False
        with at_call(number, lambda out=out: change(out)) as reached:  # type: ignore[misc]
            try:
                write(out)
            except PtttoolError as error:
                assert error.code in ("exists", "not-a-folder", "cannot-write"), error
                late = True
        if not reached:
            assert content(out) == NEW
            break
        refused += late
        found = content(place)
        # What was written is there whole, beside what came, or it is gone.
        written = {name: data for name, data in found.items() if data == b"new"}
        assert b"precious" in found.values(), number
        assert late == (not written), number
        assert not [name for name in found if name.startswith(".") or "/." in name], (number, found)
    assert refused > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("is_there", [False, True])
def test_a_run_that_is_killed_at_any_moment(tmp_path: Path, is_there: bool) -> None:
    """The folder is there whole, or is not, and the next run removes what was left."""
    before: dict[str, bytes] | None = {} if is_there else None
    states = set()
    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (out if is_there else place).mkdir(parents=True)
        child = os.fork()
        if not child:
            try:
                with at_call(number, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                    write(out)
            finally:
                os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        found = content(out) if out.exists() else None
        assert found in (before, NEW), number
        with output_file(place / "next"):
            pass
        states.add(found == NEW)
        assert not [*place.rglob(".*")], number
        assert names(place) == (["next", "out"] if out.exists() else ["next"])
        if not killed:
            break
    assert states == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [False, True])
def test_a_call_that_fails_at_any_moment(tmp_path: Path, is_there: bool) -> None:
    """The folder is the old or the new one, as the result says; what could not be removed goes at the next run."""

    def fail() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (out if is_there else place).mkdir(parents=True)
        failed = False
        with at_call(number, fail) as reached:
            try:
                write(out)
            except (PtttoolError, OSError):  # the test's own calls fail, too
                failed = True
        if not reached:
            break
        with output_file(place / "next"):
            pass
        assert (content(out) if out.exists() else None) == (({} if is_there else None) if failed else NEW), number
        assert not [*place.rglob(".*")], number
    assert number > 15


def test_two_runs_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert code_of(lambda: write(out, meanwhile=write)) == "exists"
    assert names(tmp_path) == ["out"]
    assert content(out) == NEW


def test_what_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert code_of(lambda: write(tmp_path / "file")) == "not-a-folder"
    assert code_of(lambda: write(tmp_path / "none" / "out")) == "output-folder-missing"
    assert not [name for name in names(tmp_path) if name.endswith(SUFFIX)]


def test_the_working_directory_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    for path in (Path(), out, Path("../out")):
        assert code_of(lambda path=path: write(path)) == "exists"  # type: ignore[misc]
    assert Path.cwd() == out
    assert names(out) == []


def test_a_mount_point_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder can take its place; this is known before hours of decoding."""
    out = tmp_path / "out"
    out.mkdir()
    real = os.fstat

    def of_another_file_system(descriptor: int) -> os.stat_result:
        about = [*real(descriptor)]
        about[2] += 1
        return os.stat_result(about)

    monkeypatch.setattr(os, "fstat", of_another_file_system)
    assert code_of(lambda: write(out)) == "exists"
    assert names(tmp_path) == ["out"]
