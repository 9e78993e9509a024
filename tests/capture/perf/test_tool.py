"""perf found and examined: real files on PATH, among them the real perf."""

from __future__ import annotations

import platform
import shutil
import struct
from pathlib import Path

import pytest

from ptttool.capture.perf.tool import PerfTool, elf_architecture, find_perf
from ptttool.errors import PerfError

STANDIN = Path(__file__).parents[2] / "standin"


def script(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / "perf"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def elf(path: Path, machine: int, *, big_endian: bool = False) -> Path:
    order = ">" if big_endian else "<"
    path.write_bytes(b"\x7fELF" + bytes([2, 2 if big_endian else 1, 1]) + bytes(9) + struct.pack(f"{order}HH", 3, machine) + bytes(44))
    return path


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(PerfError) as caught:
        find_perf(str(tmp_path))
    assert caught.value.code == "perf-missing"
    assert "linux-perf" in str(caught.value.hint)


@pytest.mark.parametrize("folders", ["", ".", "here", ":here:", "./here"])
def test_a_perf_of_the_current_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: str) -> None:
    """Whoever owns that folder chose it."""
    (tmp_path / "here").mkdir()
    for path in (tmp_path / "perf", tmp_path / "here" / "perf"):
        path.write_text("#!/bin/sh\ntouch ran\necho perf version 6.12\n")
        path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", folders)
    with pytest.raises(PerfError) as caught:
        find_perf()
    assert caught.value.code == "perf-missing"
    assert not (tmp_path / "ran").exists()


def test_ubuntu_wrapper_without_its_package(tmp_path: Path) -> None:
    script(tmp_path, "echo 'WARNING: perf not found for kernel 6.8.0-60' >&2; exit 2")
    with pytest.raises(PerfError) as caught:
        find_perf(str(tmp_path))
    assert caught.value.code == "perf-missing"
    assert "6.8.0-60" in caught.value.details["perf_stderr"]


def test_broken(tmp_path: Path) -> None:
    script(tmp_path, "echo 'perf: error while loading shared libraries: libopencsd_c_api.so.1' >&2; exit 127")
    with pytest.raises(PerfError) as caught:
        find_perf(str(tmp_path))
    assert caught.value.code == "perf-broken"
    assert "libopencsd" in caught.value.details["perf_stderr"]


def test_real_perf() -> None:
    """Decided from the ELF header: it can record on arm64 alone."""
    perf = find_perf()
    assert perf.version is not None
    assert perf.version[0].isdigit()
    assert perf.auxtrace is True
    if platform.machine() == "aarch64":
        assert perf.problem() is None
        return
    problem = perf.problem()
    assert problem is not None
    assert problem.code == "perf-cannot-record"
    assert problem.details["architecture"] == platform.machine().replace("_", "-")


def test_standin_is_not_judged_by_its_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script tells nothing of what it runs; perf's own error decides then."""
    perf = find_perf(f"{STANDIN}:{Path(shutil.which('python3') or '').parent}")
    assert (perf.version, perf.architecture, perf.auxtrace) == ("6.12.95", None, True)
    assert perf.problem() is None
    monkeypatch.setenv("STANDIN_AUXTRACE", "OFF")
    problem = find_perf(str(STANDIN)).problem()
    assert problem is not None
    assert problem.code == "perf-without-auxtrace"


def test_debian_wrapper_is_looked_behind(tmp_path: Path) -> None:
    version = ".".join(platform.release().split(".")[:2])
    script(tmp_path, f'exec "$0_{version}" "$@" # runs perf_{version}')
    shutil.copy(shutil.which("true") or "/bin/true", tmp_path / f"perf_{version}")
    assert find_perf(str(tmp_path)).architecture == elf_architecture(Path(shutil.which("true") or "/bin/true"))


def test_elf_architecture(tmp_path: Path) -> None:
    assert elf_architecture(elf(tmp_path / "arm", 183)) == "arm64"
    assert elf_architecture(elf(tmp_path / "x86", 62)) == "x86-64"
    assert elf_architecture(elf(tmp_path / "s390", 22, big_endian=True)) == "S/390"
    assert elf_architecture(elf(tmp_path / "odd", 999)) == "ELF machine 999"
    (tmp_path / "text").write_text("#!/bin/sh", encoding="utf-8")
    assert elf_architecture(tmp_path / "text") is None
    assert elf_architecture(tmp_path / "none") is None


def test_what_is_unknown_is_tried() -> None:
    assert PerfTool("perf").problem() is None
    assert PerfTool("perf", architecture="arm64").problem() is None
