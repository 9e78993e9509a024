"""What an input must not do."""

from __future__ import annotations

import contextlib
import io
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from campaign.fuzz.coverage import PACKAGE
from campaign.fuzz.targets.contract import Target
from ptttool.errors import ExitCode, PtttoolError
from ptttool.wording import clean

# Limits of one input, which has at most some ten thousand bytes. The CPU time is that of this process.
CPU_SECONDS = 3.0
MEMORY = 256 << 20
# The kernel refuses more: MemoryError.
ADDRESS_SPACE = 2 << 30
UNSHOWN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Made from Unicode's own table, not from what ptttool cleans.
CONTROL = re.compile(
    "["
    + "".join(re.escape(chr(code)) for code in range(0x110000) if code not in (9, 10) and unicodedata.category(chr(code)) in UNSHOWN)
    + "]"
)


class TooSlowError(BaseException):
    """The CPU time of an input is used up."""


@dataclass(frozen=True)
class Finding:
    """An input that did what it must not do.

    Parameters
    ----------
    target : str
        Name of the target.
    data : bytes
        The input.
    reason : str
        What it did: the first line names the kind.
    """

    target: str
    data: bytes
    reason: str

    @property
    def kind(self) -> str:
        """The first line of the reason, which findings with the same cause share."""
        return self.reason.splitlines()[0]


class Judge:
    """Runs inputs of a target within the limits.

    Parameters
    ----------
    target : Target
        The target.
    folder : Path
        An empty folder, which the target writes its input to.
    """

    def __init__(self, target: Target, folder: Path) -> None:
        self._target, self._folder = target, folder
        self._peak = _peak()

    def try_input(self, data: bytes, *, command: bool = False) -> Finding | None:
        """Run an input; with ``command``, through the command line."""
        place = self._folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        began = time.process_time()
        try:
            with cpu_limit(CPU_SECONDS):
                reason = self._run_command(data, place) if command else self._run(data, place)
        except TooSlowError:
            reason = "too slow\n" + traceback.format_exc()
        used = time.process_time() - began
        if reason is None and used > CPU_SECONDS:
            reason = f"too slow\n{used:.1f} s of CPU time"
        peak = _peak()
        if reason is None and peak - self._peak > MEMORY:
            reason = f"too much memory\n{(peak - self._peak) >> 20} MiB"
        self._peak = max(peak, self._peak)
        return None if reason is None else Finding(self._target.name, data, reason)

    def _run(self, data: bytes, place: Path) -> str | None:
        try:
            self._target.run(data, place)
        except PtttoolError as error:
            return _shown(error)
        except Exception as error:
            return unexpected(error)
        return None

    def _run_command(self, data: bytes, place: Path) -> str | None:
        arguments = self._target.command(data, place)
        if arguments is None:
            return None
        with printed() as (out, err):
            try:
                code = run_command_line(arguments)
            except Exception as error:
                return unexpected(error)
        text = out() + err()
        wrong = {ExitCode.INTERNAL, ExitCode.INTERRUPTED} | (
            set() if arguments[:2] == ["tune", "diff"] or arguments[0] == "selftest" else {ExitCode.DIFFERENT}
        )
        if code not in set(ExitCode) - wrong:
            return f"exit code {code} of {arguments[0]}\n{text[-2000:]}"
        if "Traceback" in text:
            return f"a traceback of {arguments[0]}\n{text[-2000:]}"
        return f"a control character printed by {arguments[0]}\n{text[:2000]!r}" if CONTROL.search(text) else None


def _shown(error: PtttoolError) -> str | None:
    """Check an error of ptttool: it has a message, and nothing in it is obeyed by a terminal once it is cleaned."""
    if not error.message.strip():
        return f"no message: {type(error).__name__}"
    return "a control character in a message" if CONTROL.search(clean(error.message + (error.hint or ""))) else None


def unexpected(error: BaseException) -> str:
    """Describe an exception; the first line has its type and where it was raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(PACKAGE)]
    where = f"{Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].name}" if frames else "outside"
    return f"{type(error).__name__} in {where}\n" + "".join(traceback.format_exception(error))


def run_command_line(arguments: list[str]) -> int:
    """Run ``ptttool`` in this process."""
    from ptttool.cli.main import main

    return main(arguments)


@contextmanager
def printed() -> Iterator[tuple[Callable[[], str], Callable[[], str]]]:
    """Catch what is written to standard output and standard error; yield functions that return it."""
    files = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in range(2)]

    def text_of(file: io.TextIOWrapper) -> Callable[[], str]:
        def text() -> str:
            with contextlib.suppress(ValueError):
                file.flush()
            buffer: Any = file.buffer
            return str(buffer.getvalue().decode("utf-8", "replace"))

        return text

    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = files
    try:
        yield text_of(files[0]), text_of(files[1])
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in the block when this process has used that much CPU time."""

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """Bound the address space of this process."""
    size = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
