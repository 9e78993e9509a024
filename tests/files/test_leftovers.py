"""Temporary files of killed runs are removed by the next run in the folder, and nothing else is."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ptttool.files import leftovers
from ptttool.files.atomic import output_file
from ptttool.files.leftovers import SUFFIX, temporary_name

WRITES = (
    "import sys, time; from ptttool.files.atomic import output_file\n"
    "with output_file(sys.argv[1]) as file: file.write(b'half'); file.flush(); print('here', flush=True); time.sleep(60)"
)


def begun(path: Path) -> subprocess.Popen[str]:
    """Return a process that is writing an output."""
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def ended(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def write(path: Path) -> None:
    with output_file(path, force=True) as file:
        file.write(b"new")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_run_leaves_goes_at_the_next(tmp_path: Path) -> None:
    ended(begun(tmp_path / "killed.csv"))
    (left,) = names(tmp_path)
    assert left.startswith(".killed.csv.") and left.endswith(SUFFIX)
    write(tmp_path / "other.csv")
    assert names(tmp_path) == ["other.csv"]


def test_what_a_run_is_writing_stays(tmp_path: Path) -> None:
    process = begun(tmp_path / "slow.csv")
    try:
        before = names(tmp_path)
        write(tmp_path / "other.csv")
        assert names(tmp_path) == sorted([*before, "other.csv"])
    finally:
        ended(process)


def test_what_is_not_a_leftover_stays(tmp_path: Path) -> None:
    other = [
        "perf.data.part", ".perf.data.0123456789abcdef.part", f"x{temporary_name('out')}", temporary_name("out") + "x",
        f".out{SUFFIX}", f".out.0123.01234567.01234567{SUFFIX}", temporary_name("out").upper(),
    ]  # fmt: skip
    for name in other:
        (tmp_path / name).touch()
    target = tmp_path / "target"
    target.write_bytes(b"something")
    (tmp_path / temporary_name("link")).symlink_to(target)
    os.mkfifo(tmp_path / temporary_name("fifo"))
    folder = tmp_path / temporary_name("folder")
    folder.mkdir()
    (folder / "file").touch()
    before = names(tmp_path)
    write(tmp_path / "written")
    assert names(tmp_path) == sorted([*before, "written"])
    assert target.read_bytes() == b"something"
    assert names(folder) == ["file"]


def test_an_empty_folder_of_a_killed_run_goes(tmp_path: Path) -> None:
    """The run was killed before it had locked its folder."""
    (tmp_path / temporary_name("out")).mkdir()
    write(tmp_path / "written")
    assert names(tmp_path) == ["written"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_is_of_another_user_stays(tmp_path: Path) -> None:
    name = temporary_name("out")
    (tmp_path / name).touch()
    os.chown(tmp_path / name, 65534, 65534)
    write(tmp_path / "written")
    assert name in names(tmp_path)


def test_what_another_machine_has_left_stays_for_a_week(tmp_path: Path) -> None:
    """Its locks may be invisible here."""
    name = re.sub(r"\.[0-9a-f]{8}\.[0-9a-f]{8}" + re.escape(SUFFIX), f".00000000.00000000{SUFFIX}", temporary_name("out"))
    (tmp_path / name).touch()
    write(tmp_path / "written")
    assert name in names(tmp_path)
    then = time.time() - leftovers.WEEK - 60
    os.utime(tmp_path / name, (then, then))
    write(tmp_path / "written")
    assert names(tmp_path) == ["written"]


def test_a_leftover_that_is_locked_stays(tmp_path: Path) -> None:
    name = temporary_name("out")
    with (tmp_path / name).open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(tmp_path / "written")
        assert name in names(tmp_path)
    write(tmp_path / "written")
    assert names(tmp_path) == ["written"]


def test_another_run_takes_the_new_file_for_a_leftover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does so before the file is locked: the file gets another name."""
    taken: list[str] = []
    real = os.open

    def taking(path: str, flags: int, *arguments: int, **named: int) -> int:
        descriptor = real(path, flags, *arguments, **named)
        if flags & os.O_EXCL and not taken:
            taken.append(path)
            (tmp_path / path).unlink()
        return descriptor

    monkeypatch.setattr(os, "open", taking)
    write(tmp_path / "out")
    assert taken and names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a", "ä" * 120, "n" * 255, "\n", os.fsdecode(b"\xff" * 250), "𝄞" * 63])
def test_names_of_temporary_files(tmp_path: Path, name: str) -> None:
    assert len(os.fsencode(temporary_name(name))) < 120
    write(tmp_path / name)
    ended(begun(tmp_path / f"{name[:-2]}x"))
    write(tmp_path / name)
    assert names(tmp_path) == [name]
