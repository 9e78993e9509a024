"""Unfinished recordings: their names, what leads nowhere else, how they get the wanted name, what an earlier run left behind."""

from __future__ import annotations

import errno
import fcntl
import json
import lzma
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.capture import replay
from ptttool.capture.names import SUFFIX, sidecar_path, unfinished_in, wanted_name
from ptttool.capture.sidecar import Sidecar, find, identifies, part_of, save
from ptttool.capture.unfinished.file import UnfinishedFile, is_being_written
from ptttool.capture.unfinished.held_trace import held_trace
from ptttool.capture.unfinished.leftovers import leftovers, look_at
from ptttool.capture.unfinished.recover import find_unfinished, recover_recording
from ptttool.errors import InputError, OutputError
from ptttool.machine.discovery import read_machine
from ptttool.machine.sources.recorded import DemoSource

EIGHT_DW = "m-8dw-port10-type7-dir2.data.xz"
TLPS = 5569
CONFIG = 0x107280001


@pytest.fixture(scope="module")
def recording() -> bytes:
    return lzma.decompress((replay.FOLDER / EIGHT_DW).read_bytes())


@pytest.fixture(scope="module")
def known() -> Sidecar:
    machine = read_machine(DemoSource())
    device = machine.devices[0]
    return Sidecar(machine=part_of(machine, device), options={"config": CONFIG, "cpu": 0}, started="2026-11-22T06:00:00.000+00:00")


def cut(recording: bytes) -> bytes:
    """As perf leaves it when it is killed: no size in the header, the last bytes are missing."""
    return recording[:48] + bytes(8) + recording[56:-4000]


def without_trace(recording: bytes) -> bytes:
    """Killed before the first step of AUX data: the records of the kernel alone."""
    position, size = struct.unpack_from("<QQ", recording, 40)
    end = position + size
    while position < end:
        kind, _, length = struct.unpack_from("<IHH", recording, position)
        if kind == 71:
            break
        position += length
    return recording[:48] + bytes(8) + recording[56:position]


def left(folder: Path, content: bytes, name: str = "perf.data", mark: str = "0123456789abcdef") -> Path:
    path = folder / f"{name}.{mark}.part"
    path.write_bytes(content)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ---- the file


def test_names(tmp_path: Path) -> None:
    with UnfinishedFile(tmp_path / "perf.data") as one, UnfinishedFile(tmp_path / "perf.data") as other:
        assert one.name != other.name
        assert wanted_name(one.name) == wanted_name(other.name) == "perf.data"
        assert os.fstat(one.descriptor).st_mode & 0o777 == 0o600
    assert wanted_name("perf.data.12345.part") is None
    assert wanted_name("perf.data") is None


def test_a_planted_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even one with the name that is drawn."""
    monkeypatch.setattr(os, "urandom", bytes)
    target = tmp_path / "target"
    (tmp_path / f"perf.data.{'00' * 8}.part").symlink_to(target)
    with pytest.raises(OutputError):
        UnfinishedFile(tmp_path / "perf.data")
    assert not target.exists()


def test_perf_is_not_led_elsewhere(tmp_path: Path) -> None:
    """The owner of the folder puts a link in the place of the file: what is written still goes to the file."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    with UnfinishedFile(tmp_path / "perf.data") as file:
        file.path.rename(tmp_path / "moved")
        file.path.symlink_to(precious)
        subprocess.run([sys.executable, "-c", f"open('{file.through_proc}', 'wb').write(b'trace')"], check=True)
        with pytest.raises(OSError, match="replaced"):
            file.take_name("perf.data")
    assert precious.read_bytes() == b"precious"
    assert (tmp_path / "moved").read_bytes() == b"trace"


def test_the_sidecar_is_as_strict_as_the_file_that_perf_writes(tmp_path: Path, known: Sidecar, recording: bytes) -> None:
    """The owner of the folder puts a link to a file that all may read in its place."""
    everybody = tmp_path / "everybody"
    everybody.write_bytes(b"x")
    everybody.chmod(0o666)
    with UnfinishedFile(tmp_path / "perf.data") as file:
        file.through_proc.write_bytes(recording)
        file.path.unlink()
        file.path.symlink_to(everybody)
        path = save(file.path, known, file=file.through_proc)
        assert path.stat().st_mode & 0o777 == 0o600
        assert identifies(json.loads(path.read_bytes()), file.through_proc)


def test_what_was_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    for generation in ("first", "second", "third"):
        with UnfinishedFile(path) as file:
            file.path.write_text(generation, encoding="utf-8")
            if generation != "second":
                sidecar_path(file.path).write_text(generation, encoding="utf-8")
            assert file.take_name("perf.data") == (None if generation == "first" else "perf.data.old")
    # The second had no sidecar: that of the first must not pass for its own.
    assert {one.name: one.read_text(encoding="utf-8") for one in tmp_path.iterdir()} == {
        "perf.data": "third",
        f"perf.data{SUFFIX}": "third",
        "perf.data.old": "second",
    }


def test_an_empty_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "perf.data").write_bytes(b"")
    with UnfinishedFile(tmp_path / "perf.data") as file:
        file.path.write_bytes(b"new")
        assert file.take_name("perf.data") is None
    assert (tmp_path / "perf.data").read_bytes() == b"new"
    assert names(tmp_path) == {"perf.data"}


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_what_is_no_recording_is_not_moved(tmp_path: Path, kind: str) -> None:
    """It has taken the name while perf recorded."""
    path = tmp_path / "perf.data"
    with UnfinishedFile(path) as file:
        if kind == "link":
            path.symlink_to("x")
        elif kind == "folder":
            path.mkdir()
        else:
            os.mkfifo(path)
        before = path.lstat()
        with pytest.raises(FileExistsError):
            file.take_name("perf.data")
        assert path.lstat().st_ino == before.st_ino
        assert file.path.exists()


# ---- who writes it


def test_a_writer_is_seen(tmp_path: Path) -> None:
    path = left(tmp_path, b"x")
    assert not look_at(path).being_written
    with path.open("ab"):
        assert look_at(path).being_written
        assert look_at(path).state == "still-recording"
    with path.open("rb"):
        assert not look_at(path).being_written


def test_a_writer_is_seen_without_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, command: int, __: int) -> int:
        raise OSError(errno.EINVAL if command == fcntl.F_SETLEASE else errno.EPERM, "refused")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    path = left(tmp_path, b"x")
    with path.open("rb") as reader:
        assert not is_being_written(reader.fileno())
        with path.open("ab"):
            assert is_being_written(reader.fileno())


# ---- what it holds


def test_held_trace(tmp_path: Path, recording: bytes) -> None:
    path = left(tmp_path, recording)
    whole = held_trace(path)
    assert (whole.tlps, whole.complete, whole.holds_none) == (TLPS, True, False)
    path.write_bytes(cut(recording))
    part = held_trace(path)
    assert (part.tlps, part.complete, part.holds_none) == (TLPS, False, False)
    path.write_bytes(cut(recording)[: len(recording) // 2])
    less = held_trace(path, CONFIG)
    assert less.tlps is not None
    assert 0 < less.tlps < TLPS
    assert less.aux_bytes // 32 == less.tlps


@pytest.mark.parametrize("size", [0, 50, 103])
def test_less_than_a_header_holds_nothing(tmp_path: Path, recording: bytes, size: int) -> None:
    assert held_trace(left(tmp_path, recording[:size])).holds_none


def test_records_without_trace_hold_nothing(tmp_path: Path, recording: bytes) -> None:
    assert held_trace(left(tmp_path, without_trace(recording))).holds_none
    # Blocks that the file system had given the file before power was lost.
    assert held_trace(left(tmp_path, without_trace(recording) + bytes(10_000))).holds_none


@pytest.mark.parametrize("tail", [b"\1" * 100, bytes(4096) + b"\1", b"\x47\0\0\0\0\0\x30\0" + b"\xff" * 8])
def test_what_cannot_be_read_may_hold_trace(tmp_path: Path, recording: bytes, tail: bytes) -> None:
    assert not held_trace(left(tmp_path, without_trace(recording) + tail)).holds_none
    assert not held_trace(left(tmp_path, b"\1" * 4096)).holds_none


# ---- what an earlier run left


def test_the_next_run_reports_it(tmp_path: Path, recording: bytes, known: Sidecar) -> None:
    path = left(tmp_path, cut(recording))
    save(path, known, finished=False)
    (found,) = leftovers(tmp_path)
    assert (found.code, found.where, found.details["state"], found.details["tlps"]) == (
        "unfinished-recording", str(path), "cut-short", TLPS
    )  # fmt: skip
    assert path.exists()
    assert sidecar_path(path).exists()


def test_the_next_run_removes_what_holds_nothing(tmp_path: Path, recording: bytes, known: Sidecar) -> None:
    for number, content in enumerate((b"", recording[:60], without_trace(recording))):
        save(left(tmp_path, content, mark=f"{number:016x}"), known, finished=False)
    other = tmp_path / "perf.data.1234.part"
    other.write_bytes(b"")
    with left(tmp_path, b"", mark="f" * 16).open("ab") as still:
        assert list(leftovers(tmp_path)) == []
        assert names(tmp_path) == {other.name, Path(still.name).name}


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_the_files_of_others_are_left_alone(tmp_path: Path, recording: bytes) -> None:
    for number, content in enumerate((b"", cut(recording))):
        os.chown(left(tmp_path, content, mark=f"{number:016x}"), 65534, 65534)
    assert list(leftovers(tmp_path)) == []
    assert len(names(tmp_path)) == 2


def test_a_run_that_ended_between_two_names(tmp_path: Path, recording: bytes, known: Sidecar) -> None:
    """The recording has its name, its sidecar not yet."""
    path = left(tmp_path, recording)
    save(path, known)
    path.rename(tmp_path / "perf.data")
    assert list(leftovers(tmp_path)) == []
    assert names(tmp_path) == {"perf.data", f"perf.data{SUFFIX}"}
    assert find(tmp_path / "perf.data")[0] is not None


def test_the_sidecar_of_what_is_gone(tmp_path: Path, recording: bytes, known: Sidecar) -> None:
    for finished in (True, False):
        path = left(tmp_path, cut(recording))
        save(path, known, finished=finished)
        path.unlink()
        (tmp_path / "perf.data").write_bytes(recording)
        assert list(leftovers(tmp_path)) == []
        assert names(tmp_path) == {"perf.data"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 200_000, '{"recording": {"head_sha256": [1]}}'], ids=["empty", "list", "cut", "deep", "wrong"]
)
def test_what_is_not_a_sidecar_stops_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / f"perf.data.{'0' * 16}.part{SUFFIX}").write_text(text)
    assert list(leftovers(tmp_path)) == []


# ---- recover


@pytest.mark.parametrize("by", ["name", "file", "folder"])
def test_recover(tmp_path: Path, recording: bytes, known: Sidecar, by: str) -> None:
    path = left(tmp_path, cut(recording))
    save(path, known, name="perf.data", finished=False)
    (found,) = find_unfinished({"name": tmp_path / "perf.data", "file": path, "folder": tmp_path}[by])
    assert found.started == known.started
    done = recover_recording(found)
    assert done.recording == str(tmp_path / "perf.data")
    assert (done.state, done.tlps, done.old, done.sidecar) == ("cut-short", TLPS, None, f"{done.recording}{SUFFIX}")
    assert names(tmp_path) == {"perf.data", f"perf.data{SUFFIX}"}
    sidecar, problem = find(tmp_path / "perf.data")
    assert problem is None
    assert sidecar is not None
    assert sidecar.machine == known.machine
    # It belongs to this recording from now on.
    (tmp_path / "perf.data").write_bytes(recording[:60] + b"\xff" + recording[61:])
    assert find(tmp_path / "perf.data")[0] is None


def test_recover_replaces_nothing(tmp_path: Path, recording: bytes) -> None:
    (tmp_path / "perf.data").write_bytes(b"the last one")
    (tmp_path / "perf.data.1").symlink_to("nowhere")
    for number in range(2):
        left(tmp_path, cut(recording), mark=f"{number:016x}")
    done = [recover_recording(one).recording for one in find_unfinished(tmp_path)]
    assert done == [str(tmp_path / "perf.data.2"), str(tmp_path / "perf.data.3")]
    assert (tmp_path / "perf.data").read_bytes() == b"the last one"
    assert names(tmp_path) == {"perf.data", "perf.data.1", "perf.data.2", "perf.data.3"}


def test_recover_with_force(tmp_path: Path, recording: bytes) -> None:
    (tmp_path / "perf.data").write_bytes(b"the last one")
    done = recover_recording(look_at(left(tmp_path, cut(recording))), force=True)
    assert (done.recording, done.old) == (str(tmp_path / "perf.data"), str(tmp_path / "perf.data.old"))
    assert (tmp_path / "perf.data.old").read_bytes() == b"the last one"


def test_recover_leaves_what_is_still_recorded(tmp_path: Path, recording: bytes) -> None:
    path = left(tmp_path, cut(recording))
    with path.open("ab"), pytest.raises(InputError) as caught:
        recover_recording(look_at(path))
    assert caught.value.code == "still-recording"
    assert names(tmp_path) == {path.name}


def test_recover_nothing(tmp_path: Path, recording: bytes) -> None:
    assert find_unfinished(tmp_path) == []
    assert find_unfinished(tmp_path / "perf.data") == []
    done = recover_recording(look_at(left(tmp_path, without_trace(recording))))
    assert (done.state, done.recording) == ("empty", None)


def test_look_at_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / f"perf.data.{'0' * 16}.part"
    os.mkfifo(path)
    with pytest.raises(InputError):
        look_at(path)
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError):
        look_at(path)
    assert unfinished_in(tmp_path) == []
    assert list(leftovers(tmp_path)) == []
