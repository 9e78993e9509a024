"""Output folders are the old or the new one at any moment, and nothing that others put into them is lost."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from ptttool.errors import OutputError, PtttoolError
from ptttool.files import renaming
from ptttool.files.atomic import output_file
from ptttool.files.folders import output_folder
from ptttool.files.leftovers import SUFFIX
from tests.files.moments import at_call

OLD = {"a=1/part-1": b"old", "part-2": b"old"}
NEW = {"a=1/part-1": b"new", "part-3": b"new"}
Change = Callable[[Path], None]


def is_ours(name: str, is_folder: bool) -> bool:
    return name.startswith("a=" if is_folder else "part-")


def fill(folder: Path, content: dict[str, bytes]) -> None:
    for name, data in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write(folder: Path, *, force: bool = False, meanwhile: Change | None = None) -> None:
    with output_folder(str(folder), [], force=force, is_ours=is_ours) as unfinished:
        fill(Path(unfinished.path), NEW)
        if meanwhile is not None:
            meanwhile(folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def code_of(function: Callable[[], None]) -> str:
    with pytest.raises(PtttoolError) as caught:
        function()
    return caught.value.code


@pytest.fixture(params=["renameat2", "without"])
def renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the file system has renameat2."""
    if request.param != "renameat2":
        monkeypatch.setattr(renaming, "renameat2", lambda *_: errno.EINVAL)
    return str(request.param)


def test_a_new_folder_and_one_that_is_replaced(tmp_path: Path, renames: str) -> None:
    out = tmp_path / "out"
    write(out)
    assert content(out) == NEW
    out.chmod(0o2750)
    assert code_of(lambda: write(out)) == "exists"
    fill(out, OLD)
    write(out, force=True)
    assert content(out) == NEW
    assert stat.S_IMODE(out.stat().st_mode) == 0o2750
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_stays(tmp_path: Path, renames: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    before = out.stat().st_ino
    write(out)
    assert (content(out), out.stat().st_ino) == (NEW, before)
    assert names(out) == ["a=1", "part-3"]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def fail(_folder: Path) -> None:
        raise KeyboardInterrupt

    for there in (None, {}, OLD):
        out = tmp_path / f"{there is None}{bool(there)}"
        if there is not None:
            out.mkdir()
            fill(out, there)
        before = names(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            write(out, force=True, meanwhile=fail)
        assert names(tmp_path) == before
        assert not out.exists() or content(out) == (there or {})


def add(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "notes").write_bytes(b"precious")


def add_deep(folder: Path) -> None:
    (folder / "a=1").mkdir(parents=True, exist_ok=True)
    (folder / "a=1" / "part-9").write_bytes(b"precious")


def rewrite(folder: Path) -> None:
    (folder / "a=1").mkdir(parents=True, exist_ok=True)
    (folder / "a=1" / "part-1").write_bytes(b"precious")


def replace(folder: Path) -> None:
    (folder / "a=1").mkdir(parents=True, exist_ok=True)
    other = folder.parent / "written"
    other.write_bytes(b"precious")
    other.rename(folder / "a=1" / "part-1")


def another_folder(folder: Path) -> None:
    if folder.exists():
        folder.rename(folder.parent / "moved")
    fill(folder, {"a=1/part-1": b"precious"})


CHANGES = (add, add_deep, rewrite, replace, another_folder)


def is_begun(place: Path) -> bool:
    """Return whether a run has looked at what is there, and works."""
    return any(path.name.endswith(SUFFIX) for path in (*place.iterdir(), *(place / "out").glob("*")))


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("there", ["nothing", "empty", "old"])
def test_what_comes_meanwhile_stays(tmp_path: Path, change: Change, there: str) -> None:
    out = tmp_path / "out"
    if there != "nothing":
        out.mkdir()
        fill(out, OLD if there == "old" else {})
    with pytest.raises(PtttoolError) as caught:
        write(out, force=True, meanwhile=change)
    assert caught.value.code == "folder-changed"
    assert b"precious" in content(out).values()
    # What was written is kept, too, where the error says.
    assert content(Path(caught.value.details["kept"])) == NEW
    assert not [*tmp_path.rglob(".*")]


@pytest.mark.parametrize(("there", "change"), [("nothing", add), ("empty", add), ("old", add), ("old", rewrite)])
def test_what_comes_at_any_moment_is_not_lost(tmp_path: Path, change: Change, there: str, renames: str) -> None:
    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (out if there != "nothing" else place).mkdir(parents=True)
        fill(out, OLD if there == "old" else {})
        begun: list[bool] = []

        def change_now(place: Path = place, begun: list[bool] = begun) -> None:
            begun.append(is_begun(place))
            change(place / "out")

        with at_call(number, change_now):
            try:
                write(out, force=True)
            except PtttoolError as error:
                assert error.code in ("folder-changed", "foreign-folder", "cannot-write", "exists"), error
        if not begun:
            break
        found = content(place)
        # What has the name of a dataset's file and was there before may be replaced.
        assert b"precious" in found.values() or (not begun[0] and found == {f"out/{name}": data for name, data in NEW.items()}), number
        assert not [name for name in found if name.startswith(".") or "/." in name], (number, found)
        assert out.is_dir()
    assert number > 20


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("there", ["nothing", "empty", "old"])
def test_a_run_that_is_killed_at_any_moment(tmp_path: Path, there: str, renames: str) -> None:
    """The folder is the old or the new one, and the next run removes what was left."""
    before = OLD if there == "old" else {}
    states = set()
    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (out if there != "nothing" else place).mkdir(parents=True)
        fill(out, before)
        child = os.fork()
        if not child:
            try:
                with at_call(number, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                    write(out, force=True)
            finally:
                os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        if there == "empty" or (there == "old" and renames != "renameat2"):
            pass  # files appear one by one, or the folder is away for a moment, until the next run
        elif there == "nothing":
            assert not out.exists() or content(out) == NEW
        else:
            assert content(out) in (OLD, NEW)
        with output_file(place / "next"):
            pass
        if there == "empty":  # the next run that writes to the folder completes it, or begins again
            with suppress(OutputError):
                write(out)
        found = content(out) if out.exists() else None
        assert found in (before, NEW, None if there == "nothing" else before), (number, found)
        states.add(found == NEW)
        assert not [*place.rglob(".*")], number
        assert names(place) in (["next"], ["next", "out"])
        if not killed:
            break
    assert states == ({True} if there == "empty" else {True, False})


@pytest.mark.parametrize("there", ["nothing", "empty", "old"])
def test_a_call_that_fails_at_any_moment(tmp_path: Path, there: str) -> None:
    """The folder is the old or the new one, as the result says; what could not be removed goes at the next run."""

    def fail() -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = OLD if there == "old" else {} if there == "empty" else None
    for number in count():
        place = tmp_path / str(number)
        out = place / "out"
        (place if before is None else out).mkdir(parents=True)
        fill(out, before or {})
        failed = False
        with at_call(number, fail) as reached:
            try:
                write(out, force=True)
            except (PtttoolError, OSError):  # the test's own calls fail, too
                failed = True
        if not reached:
            break
        with output_file(place / "next"):
            pass
        if there == "empty" and failed:  # this run completes it, or writes it
            with suppress(OutputError):
                write(out)
            failed = False
        assert (content(out) if out.exists() else None) == (before if failed else NEW), number
        assert not [*place.rglob(".*")], number
    assert number > 20


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_what_a_killed_run_replaced_keeps_what_came(tmp_path: Path) -> None:
    """Killed after the exchange, while somebody had written into the old folder."""
    out = tmp_path / "out"
    fill(out, OLD)
    write(out, force=True)
    fill(tmp_path / "again", OLD)

    child = os.fork()
    if not child:
        try:
            real = renaming.renameat2

            def killing(old: str, new: str, source: int, target: int, flags: int) -> int:
                (tmp_path / "again" / "notes").write_bytes(b"precious")
                real(old, new, source, target, flags)
                os.kill(os.getpid(), signal.SIGKILL)
                return 0

            renaming.renameat2 = killing
            write(tmp_path / "again", force=True)
        finally:
            os._exit(0)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert content(tmp_path / "again") == NEW
    with output_file(tmp_path / "next"):
        pass
    assert names(tmp_path) == ["again", "again.old", "next", "out"]
    assert content(tmp_path / "again.old") == {"notes": b"precious"}


def test_two_runs_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    fill(out, OLD)

    def second(folder: Path) -> None:
        write(folder, force=True)

    with pytest.raises(PtttoolError) as caught:
        write(out, force=True, meanwhile=second)
    assert caught.value.code == "folder-changed"
    assert names(tmp_path) == ["out", "out.new"]
    assert content(out) == content(tmp_path / "out.new") == NEW


def test_an_empty_folder_that_two_runs_fill(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    codes = []

    def second(folder: Path) -> None:
        codes.append(code_of(lambda: write(folder, force=True)))

    write(out, meanwhile=second)
    assert codes == ["foreign-folder"]
    assert content(out) == NEW


def test_what_may_not_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    fill(out, {"a=1/other": b""})
    assert code_of(lambda: write(out, force=True)) == "foreign-folder"
    (out / "a=1" / "other").unlink()
    (out / "a=1" / "part-1").symlink_to("/etc/passwd")
    assert code_of(lambda: write(out, force=True)) == "foreign-folder"
    (out / "a=1" / "part-1").unlink()
    (out / "part-2").touch()
    monkeypatch.chdir(out / "a=1")
    for path in (out, Path("..")):
        assert code_of(lambda path=path: write(path, force=True)) == "output-is-input"  # type: ignore[misc]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    assert code_of(lambda: write(tmp_path / "file")) == "not-a-folder"
    assert code_of(lambda: write(tmp_path / "none" / "out")) == "output-folder-missing"


def test_the_working_directory_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.chdir(out)
    write(Path())
    assert content(out) == NEW
    assert code_of(lambda: write(Path(), force=True)) == "output-is-input"


def test_a_disk_that_fills_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written is complete, so it is kept."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    out = tmp_path / "out"
    fill(out, OLD)
    monkeypatch.setattr(json, "dump", full)
    with pytest.raises(PtttoolError) as caught:
        write(out, force=True)
    assert caught.value.code == "disk-full"
    assert content(out) == OLD
    assert content(tmp_path / "out.new") == NEW
    assert names(tmp_path) == ["out", "out.new"]
