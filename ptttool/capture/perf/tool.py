"""The perf tool: its path, its build options, whether it can record a PTT device."""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ptttool.errors import PerfError

INSTALL_HINT = "install it: linux-perf (Debian), linux-tools-$(uname -r) (Ubuntu), perf (openEuler, Fedora, RHEL, SUSE)"
AARCH64 = 183
MAX_PERF_BYTES = 256 << 20
"""Bytes of a perf that are looked at: with debug information it has some 60 MiB."""
# e_machine of ELF headers (System V ABI).
_MACHINES = {
    3: "32-bit x86",
    21: "64-bit POWER",
    22: "S/390",
    40: "32-bit ARM",
    62: "x86-64",
    AARCH64: "arm64",
    243: "RISC-V",
    258: "LoongArch",
}


class PerfTool(Struct, frozen=True):
    """A perf.

    Parameters
    ----------
    path : str
        The file to run.
    version : str or None
        As ``perf version`` prints it; None where it does not.
    architecture : str or None
        What the binary is built for; None where that is unknown (a script that picks the binary).
    auxtrace : bool or None
        Whether it is built with AUX tracing; None where it does not say.
    """

    path: str
    version: str | None = None
    architecture: str | None = None
    auxtrace: bool | None = None

    def problem(self) -> PerfError | None:
        """Return why this perf certainly cannot record a PTT device; None where it may."""
        if self.architecture is not None and self.architecture != _MACHINES[AARCH64]:
            return PerfError(
                f"{self.path} is built for {self.architecture}: only an arm64 perf can record a PTT device",
                hint="record on the Kunpeng server itself; any machine can decode the recording",
                code="perf-cannot-record",
                architecture=self.architecture,
                perf_version=self.version,
            )
        if self.auxtrace is False:
            return PerfError(
                f"{self.path} is built without AUX area tracing (HAVE_AUXTRACE_SUPPORT is off)",
                hint="use the perf of your distribution's kernel package, or build it with auxtrace",
                code="perf-without-auxtrace",
                perf_version=self.version,
            )
        return None


def find_perf(search: str | None = None) -> PerfTool:
    """Find perf on PATH and ask for its version and build options.

    Parameters
    ----------
    search : str or None
        Folders to search instead of those of PATH.

    Raises
    ------
    PerfError
        ``perf-missing``, or ``perf-broken`` where it does not start.
    """
    path = shutil.which("perf", path=_absolute(search or os.environ.get("PATH", os.defpath)))
    if path is None:
        raise PerfError("perf is not installed: there is none on PATH", hint=INSTALL_HINT, code="perf-missing")
    try:
        done = subprocess.run(
            [path, "version", "--build-options"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            encoding="utf-8",
            errors="replace",
            env=os.environ | {"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not answer"
        raise PerfError(f"{path} does not start: {reason}", hint=INSTALL_HINT, code="perf-broken") from None
    version = re.search(r"^perf version (\S+)", done.stdout, re.MULTILINE)
    if version is None and done.returncode != 0:
        # Ubuntu's wrapper prints this if the running kernel's tools are not installed.
        code = "perf-missing" if "perf not found" in done.stderr else "perf-broken"
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [f"it ends with {done.returncode}"]
        raise PerfError(f"{path} does not work: {lines[0]}", hint=INSTALL_HINT, code=code, perf_stderr=done.stderr)
    auxtrace = re.search(r"\[ *(on|OFF) *\] *# *HAVE_AUXTRACE_SUPPORT", done.stdout)
    architecture = next(filter(None, map(elf_architecture, _binaries(Path(path)))), None)
    return PerfTool(path, version[1] if version else None, architecture, None if auxtrace is None else auxtrace[1] == "on")


def _absolute(folders: str) -> str:
    """Return the folders of a search path that are not relative: anybody may have a perf in the current folder."""
    return os.pathsep.join(filter(os.path.isabs, folders.split(os.pathsep)))


def names_ptt(path: Path) -> bool | None:
    """Tell whether a perf holds the name of PTT devices, as one does that can record them; None where its binary was not found.

    Its version does not tell: openEuler has taken support of them into its perf 5.10.
    """
    name = b"hisi_ptt"
    found: bool | None = None
    for binary in _binaries(path):
        end, left = b"", MAX_PERF_BYTES
        with suppress(OSError), binary.open("rb") as file:
            while left > 0 and (piece := file.read(1 << 20)):
                found, left = False, left - len(piece)
                if name in end + piece:
                    return True
                end = piece[-len(name) :]
            if left <= 0:
                return None
    return found


def _binaries(path: Path) -> list[Path]:
    """Return the file of a perf, or those that a distribution's wrapper script of that name may run."""
    text = _head(path, 8192)
    if not text.startswith(b"#!"):
        return [path]
    if b"linux-tools" not in text and b"perf_" not in text:
        return []
    # Debian's wrapper runs perf_X.Y beside itself, Ubuntu's the one of the running kernel's tools; other scripts are unknown.
    release = platform.release()
    short = ".".join(release.split(".")[:2])
    return [
        path.with_name(f"perf_{short}"),
        Path(f"/usr/lib/linux-tools/{release}/perf"),
        Path(f"/usr/lib/linux-tools-{release}/perf"),
    ]


def elf_architecture(path: Path) -> str | None:
    """Return the machine of an ELF file in words; None for any other file."""
    head = _head(path, 20)
    if len(head) < 20 or not head.startswith(b"\x7fELF"):
        return None
    (machine,) = struct.unpack_from("<H" if head[5] == 1 else ">H", head, 18)
    return _MACHINES.get(machine, f"ELF machine {machine}")


def _head(path: Path, size: int) -> bytes:
    """Return the first bytes of a file; none of one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
