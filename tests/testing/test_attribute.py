"""Tune attributes of a fake machine, as programs open, read and write them."""

from __future__ import annotations

import ast
import errno
import io
import os
import re
from pathlib import Path

import pytest
from pyfakefs.fake_filesystem import FakeFilesystem

from ptttool.testing import FakeMachine, FakeTuneAttribute
from tests import ROOT

TRANSCRIPT = (ROOT / "fixtures" / "tune-as-root.txt").read_text(encoding="utf-8")


@pytest.fixture
def attribute(ptt_machine: FakeMachine) -> FakeTuneAttribute:
    return ptt_machine["hisi_ptt0_0"]["qos_tx_cpl"]


def test_as_the_real_driver_answered(attribute: FakeTuneAttribute) -> None:
    """Every line of the transcript: the same calls on the fake file, the same answers."""
    status = Path(attribute.path).stat()
    assert f"qos_tx_cpl: mode {oct(status.st_mode & 0o777)} uid {status.st_uid} size {status.st_size}" in TRANSCRIPT
    assert f"read at first        -> {Path(attribute.path).read_text()!r}" in TRANSCRIPT
    lines = re.findall(r"(?m)^  write (\S.*?) +-> (.*?) +then read -> (.*)$", TRANSCRIPT)
    assert len(lines) == 24
    for written, answer, then in lines:
        data = ast.literal_eval(written).encode()
        descriptor = os.open(attribute.path, os.O_WRONLY)
        try:
            said = f"wrote {os.write(descriptor, data)} of {len(data)}"
        except OSError as error:
            said = f"write: {errno.errorcode[error.errno or 0]} ({error.strerror})"
        os.close(descriptor)
        assert said == answer, written
        assert Path(attribute.path).read_text() == ast.literal_eval(then), written
    for flag, text in ((os.O_TRUNC, "1"), (os.O_APPEND, "2")):
        descriptor = os.open(attribute.path, os.O_WRONLY | flag)
        assert os.write(descriptor, text.encode()) == 1
        os.close(descriptor)
        assert Path(attribute.path).read_text() == f"{text}\n"
    assert TRANSCRIPT.rstrip().endswith("open O_APPEND write '2' -> wrote 1 of 1; read -> '2\\n'")


def test_a_text_file_is_written_when_it_is_closed(attribute: FakeTuneAttribute) -> None:
    with open(attribute.path, "w") as file:  # noqa: PTH123 - as scripts write it
        file.write("0")
        file.write("\n")
        assert attribute.value == 1
    assert (attribute.value, attribute.writes) == (0, ["0"])
    print(2, file=open(attribute.path, "w"))  # noqa: PTH123, SIM115 - closed by Python when nothing refers to it
    assert attribute.value == 2


@pytest.mark.parametrize("mode", ["w", "a", "r+", "w+", "rb+", "wb"])
def test_a_refused_value_raises_from_close(attribute: FakeTuneAttribute, mode: str) -> None:
    file = open(attribute.path, mode)  # noqa: PTH123, SIM115
    file.write(b"x" if "b" in mode else "x")
    with pytest.raises(OSError, match="Invalid argument") as caught:
        file.close()
    assert caught.value.errno == errno.EINVAL
    assert file.closed
    # Python's text layer and the buffer below it both flush when they are closed: a real file is asked twice, too.
    assert (attribute.value, set(attribute.writes)) == (1, {"x"})
    assert len(attribute.writes) == (1 if "b" in mode else 2)


def test_unbuffered(attribute: FakeTuneAttribute) -> None:
    with open(attribute.path, "wb", buffering=0) as file:  # noqa: PTH123
        file.write(b"0")
        assert attribute.value == 0
        file.write(b"2")
    assert attribute.writes == ["0", "2"]
    with pytest.raises(ValueError, match="unbuffered"):
        open(attribute.path, "w", buffering=0)  # noqa: PTH123, SIM115


def test_reading_again_from_the_start(attribute: FakeTuneAttribute) -> None:
    with open(attribute.path, "r+") as file:  # noqa: PTH123
        assert file.read() == "1\n"
        attribute.value = 2
        assert file.read() == ""
        file.seek(0)
        assert file.read() == "2\n"
        file.seek(0)
        file.write("0")
    assert attribute.value == 0
    descriptor = os.open(attribute.path, os.O_RDWR)
    with os.fdopen(descriptor, "rb") as stream:
        assert stream.fileno() == descriptor
        assert stream.readline() == b"0\n"
    with pytest.raises(OSError, match=r"[Bb]ad file descriptor"):
        os.fstat(descriptor)


def test_wrong_ways_to_open(attribute: FakeTuneAttribute) -> None:
    with open(attribute.path) as file, pytest.raises(io.UnsupportedOperation):  # noqa: PTH123
        file.write("1")
    with pytest.raises(FileExistsError):
        open(attribute.path, "x")  # noqa: PTH123, SIM115
    descriptor = os.open(attribute.path, os.O_RDONLY)
    with pytest.raises(OSError, match=r"[Bb]ad file descriptor"):
        os.write(descriptor, b"1")
    os.close(descriptor)
    assert attribute.writes == []


def test_modes_stay(attribute: FakeTuneAttribute) -> None:
    os.close(os.open(attribute.path, os.O_WRONLY | os.O_TRUNC))
    assert Path(attribute.path).stat().st_mode & 0o777 == 0o600
    assert (attribute.value, attribute.writes) == (1, [])


def test_sysfs_takes_no_new_files_and_no_writes_to_what_is_only_read(ptt_machine: FakeMachine, fs: FakeFilesystem) -> None:
    ptt = ptt_machine["hisi_ptt0_0"]
    for path in (f"{ptt.path}/tune/qos_tx_q", f"{ptt.path}/type", f"{ptt.path}/root_port_filters/0000:00:10.0"):
        with pytest.raises(PermissionError):
            Path(path).write_text("2")
        with pytest.raises(OSError):
            os.open(path, os.O_WRONLY)
    with pytest.raises(FileNotFoundError):
        Path(f"{ptt.path}/tune/qos_tx_q").read_text()
    assert Path(f"{ptt.path}/type").read_text() == "11\n"
    Path("/tmp/elsewhere").write_text("2")
    assert Path("/tmp/elsewhere").read_text() == "2"


def test_users(ptt_machine: FakeMachine, attribute: FakeTuneAttribute) -> None:
    filters = Path(f"{ptt_machine['hisi_ptt0_0'].path}/root_port_filters/0000:00:10.0")
    assert (os.geteuid(), filters.read_text()) == (0, "0x80001\n")
    with ptt_machine.as_user(1000):
        assert (os.getuid(), os.geteuid(), os.getegid()) == (1000, 1000, 1000)
        for path in (attribute.path, filters):
            with pytest.raises(PermissionError) as caught:
                Path(path).read_text()
            assert str(caught.value.filename) == str(path)
        assert Path(f"{ptt_machine['hisi_ptt0_0'].path}/cpumask").read_text() == "0-1\n"
    assert Path(attribute.path).read_text() == "1\n"


def test_failures(attribute: FakeTuneAttribute) -> None:
    path = Path(attribute.path)
    attribute.fail_reads(errno.ETIMEDOUT, times=2)
    for _ in range(2):
        with path.open() as file, pytest.raises(TimeoutError):  # from read, not from open
            file.read()
    assert path.read_text() == "1\n"
    attribute.fail_writes(errno.EIO)
    with pytest.raises(OSError, match="Input/output error"):
        path.write_bytes(b"2")
    assert attribute.value == 1
    attribute.fail_writes(errno.ETIMEDOUT, stores=True)
    with pytest.raises(TimeoutError):
        path.write_bytes(b"2")
    assert attribute.value == 2
    attribute.hold()
    path.write_text("0")
    assert attribute.value == 2
    attribute.recover()
    path.write_text("0")
    assert (attribute.value, attribute.writes) == (0, ["2", "2", "0", "0"])


def test_hang_and_journal(ptt_machine: FakeMachine) -> None:
    Path(ptt_machine["hisi_ptt2_0"]["qos_tx_p"].path).write_text("2\n")
    Path(ptt_machine["hisi_ptt0_0"]["qos_tx_np"].path).write_text("0\n")
    assert ptt_machine.writes == ["hisi_ptt2_0/qos_tx_p=2", "hisi_ptt0_0/qos_tx_np=0"]
    ptt_machine["hisi_ptt0_0"].hang(errno.ETIMEDOUT)
    for attribute in ptt_machine["hisi_ptt0_0"].tune.values():
        with pytest.raises(TimeoutError):
            Path(attribute.path).read_text()
