"""Output files are there whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ptttool.errors import OutputError
from ptttool.files.atomic import output_file


def write(path: Path, text: bytes = b"new", *, force: bool = False) -> None:
    with output_file(path, force=force) as file:
        file.write(text)


def test_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "out")
    finally:
        os.umask(before)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(0o604)
    with pytest.raises(OutputError) as caught:
        write(path)
    assert caught.value.code == "exists"
    assert path.read_bytes() == b"old"
    write(path, force=True)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_mode_that_the_caller_gives(tmp_path: Path) -> None:
    path = tmp_path / "out"
    for mode in (0o600, 0o644):
        with output_file(path, force=True, mode=mode) as file:
            file.write(b"new")
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), output_file(path, force=True) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_what_is_no_regular_file_is_written_in_place(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    got: list[bytes] = []
    reader = threading.Timer(0.2, lambda: got.append(fifo.read_bytes()))  # waited for
    reader.start()
    write(fifo)
    reader.join(10)
    assert got == [b"new"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    write(Path(os.devnull))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)  # noqa: PTH116


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1"])
@pytest.mark.parametrize("kind", ["pipe", "file"])
def test_standard_output_by_any_name_goes_on_where_it_is(tmp_path: Path, name: str, kind: str) -> None:
    code = (
        "import sys, os; from ptttool.files.atomic import output_file\n"
        "os.write(1, b'before ')\n"
        f"with output_file({name!r}) as file: file.write(b'new')\n"
        "os.write(1, b' after')"
    )
    path = tmp_path / "out"
    if kind == "pipe":
        got = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
    else:
        with path.open("wb") as file:
            subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
        got = path.read_bytes()
    assert got == b"before new after"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path, code in (
        (tmp_path, "is-a-folder"),
        (tmp_path / "missing" / "out", "output-folder-missing"),
        (tmp_path / "file" / "out", "cannot-write"),
    ):
        with pytest.raises(OutputError) as caught:
            write(path)
        assert caught.value.code == code


def test_a_full_disk() -> None:
    with pytest.raises(OSError) as caught:
        write(Path("/dev/full"))
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == "/dev/full"


def test_a_file_that_gets_too_large(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from ptttool.errors import OutputError; from ptttool.files.atomic import output_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        f"    with output_file({str(tmp_path / 'out')!r}) as file: file.write(bytes(100000))\n"
        "except OutputError as error: sys.exit(error.code)"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "file-too-large"
    assert not [*tmp_path.iterdir()]


INTERRUPTED = """
import contextlib, os, signal, sys
from ptttool.files import atomic, leftovers
folder, number, files = sys.argv[1], int(sys.argv[2]), (atomic.__file__, leftovers.__file__, contextlib.__file__)
def leave(*_): raise SystemExit(99)
signal.signal(number, leave)
seen = held = 0
def trace(frame, event, _):
    global seen
    frame.f_trace_opcodes = frame.f_code.co_filename in files
    if frame.f_trace_opcodes and event in ("opcode", "return"):
        seen += 1
        if seen == at:
            os.kill(os.getpid(), number)
    return trace
at = ended = 0
kept = []  # what a traceback holds is not tidied up by chance
while not ended:
    at, seen = at + int(sys.argv[3]), 0
    try:
        sys.settrace(trace)
        with atomic.output_file(folder + "/out") as file:
            file.write(b"new")
        sys.settrace(None)
        ended = seen < at
    except SystemExit as error:
        sys.settrace(None)
        kept.append(error)
    names = os.listdir(folder)
    if names not in ([], ["out"]):
        held += 1
        leftovers.remove_expected()  # as at the end of the process
        assert os.listdir(folder) in ([], ["out"]), (at, names)
    for name in os.listdir(folder):
        assert open(folder + "/" + name, "rb").read() == b"new", at
        os.unlink(folder + "/" + name)
    assert not leftovers._expected or kept, at
    leftovers.remove_expected()
print(at, held)
"""


@pytest.mark.parametrize(("number", "step"), [(signal.SIGINT, 1), (signal.SIGTERM, 7)])
def test_a_signal_at_any_instruction_leaves_nothing_half_done(tmp_path: Path, number: int, step: int) -> None:
    """Raised by a handler, as the command's own: after each instruction of what makes, writes and names the file."""
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path), str(int(number)), str(step)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    points, held = map(int, done.stdout.split())
    assert points > 500
    assert held > 0  # the exit of the process is what tidies up there
