"""Commands that are measured, and what came of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

MEASURE = Path(__file__).with_name("measure.py")
MIB = 1 << 20
# Characters of a command's last words that a report holds.
LONGEST_ERROR = 300


@dataclass(frozen=True)
class Command:
    """``name``: unique. ``words``: what is run. ``input``: the recording's name, for the order of rounds; empty where there is none.

    ``output``: where standard output goes. ``reports``: the command measures itself and prints ``{"seconds": …}``, start-up left out.
    ``slow``: not run without being timed. ``rounds``: at most so many.
    """

    name: str
    words: tuple[str, ...]
    input: str = ""
    output: Path | None = None
    reports: bool = False
    slow: bool = False
    rounds: int | None = None


@dataclass
class Measurement:
    """``seconds``: of every round. ``peak``: bytes, summed over processes. ``error``: why there is no more."""

    command: Command
    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    processes: int = 0
    error: str | None = None
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """Seconds; None where nothing was measured."""
        return median(self.seconds) if self.seconds and self.error is None else None

    def as_json(self) -> dict[str, Any]:
        return {
            "command": list(self.command.words),
            "seconds": self.seconds,
            "median": self.median,
            "peak_mib": self.peak / MIB if self.peak else None,
            "processes": self.processes,
            "error": self.error,
            "report": dict(self.report),
        }


def environment() -> dict[str, str]:
    """Of measured commands: nothing that makes Python or a terminal slower than it is."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "PYTHONDEVMODE", "COLUMNS")}


def run(measurement: Measurement, *, timed: bool) -> None:
    """Run a command once more. One that failed is not run again."""
    command = measurement.command
    if measurement.error is not None:
        return
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out" if command.reports else command.output or Path(os.devnull)
        errors = Path(folder) / "err"
        memory = [] if timed else ["--memory"]
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(MEASURE), *memory, str(output), str(errors), *command.words],
            capture_output=True, text=True, check=False, env=environment(),
        )  # fmt: skip
        if done.returncode:
            measurement.error = done.stderr.strip().splitlines()[-1][:LONGEST_ERROR]
            return
        told = json.loads(done.stdout)
        if told["exit_code"]:
            said = errors.read_text(errors="replace").strip().splitlines()
            measurement.error = f"exit code {told['exit_code']}: {' '.join(said[-2:])}"[:LONGEST_ERROR]
            return
        seconds = told["seconds"]
        if command.reports:
            measurement.report = json.loads(output.read_text())
            seconds = measurement.report["seconds"]
    if told["peak"] >= measurement.peak:
        measurement.peak, measurement.processes = told["peak"], told["processes"]
    if timed:
        measurement.seconds.append(seconds)
