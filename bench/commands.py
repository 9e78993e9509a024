"""The commands that are measured, and their measurements."""

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
# Longest error message of a command in a report.
LONGEST_ERROR = 300


@dataclass(frozen=True)
class Command:
    """A command that is measured.

    Parameters
    ----------
    name : str
        A unique name.
    words : tuple of str
        The program and its arguments.
    input : str
        Name of the recording; empty if there is none.
    output : Path or None
        File for standard output; None for the null device.
    reports : bool
        Whether the command measures itself, without its start-up, and prints ``{"seconds": …}``.
    slow : bool
        Whether the untimed first run is left out.
    rounds : int or None
        Largest number of rounds.
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
    """What was measured for a command.

    Parameters
    ----------
    command : Command
        The command.
    seconds : list of float
        Time of every round.
    peak : int
        Peak memory in bytes, summed over processes.
    processes : int
        Number of processes.
    error : str or None
        Why the command failed.
    report : Mapping
        The command's own document.
    """

    command: Command
    seconds: list[float] = field(default_factory=list)
    peak: int = 0
    processes: int = 0
    error: str | None = None
    report: Mapping[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float | None:
        """Median of the seconds; None if nothing was measured."""
        return median(self.seconds) if self.seconds and self.error is None else None

    def as_json(self) -> dict[str, Any]:
        """Return the measurement for the JSON document."""
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
    """Return the environment for measured commands, without variables that make Python slower or change the output."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONUNBUFFERED", "PYTHONDEVMODE", "COLUMNS")}


def run(measurement: Measurement, *, timed: bool, memory: bool | None = None) -> None:
    """Run a command once more, unless it has failed before.

    Parameters
    ----------
    measurement : Measurement
        The command; gets the figures.
    timed : bool
        Whether the time counts.
    memory : bool, optional
        Whether the memory of all processes is measured, which slows the command down a little. By default the opposite of `timed`.
    """
    command = measurement.command
    if measurement.error is not None:
        return
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out" if command.reports else command.output or Path(os.devnull)
        errors = Path(folder) / "err"
        options = ["--memory"] if memory or (memory is None and not timed) else []
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(MEASURE), *options, str(output), str(errors), *command.words],
            capture_output=True, text=True, check=False, env=environment(),
        )  # fmt: skip
        if done.returncode:
            measurement.error = done.stderr.strip().splitlines()[-1][:LONGEST_ERROR]
            return
        result = json.loads(done.stdout)
        if result["exit_code"]:
            lines = errors.read_text(errors="replace").strip().splitlines()
            measurement.error = f"exit code {result['exit_code']}: {' '.join(lines[-2:])}"[:LONGEST_ERROR]
            return
        seconds = result["seconds"]
        if command.reports:
            measurement.report = json.loads(output.read_text())
            seconds = measurement.report["seconds"]
    if result["peak"] >= measurement.peak:
        measurement.peak, measurement.processes = result["peak"], result["processes"]
    if timed:
        measurement.seconds.append(seconds)
