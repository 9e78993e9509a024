"""The report of a run: the machine, the table, the JSON document."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from bench.commands import MIB, Measurement
from bench.plan import Row

PACKAGES = ("numpy", "polars", "rich", "typer", "ptttool")


@dataclass(frozen=True)
class Result:
    """A row with its measurements. Values are None if a command failed or if there is no baseline."""

    row: Row
    seconds: float | None
    baseline_seconds: float | None
    ratio: float | None
    peak: int | None
    error: str | None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is within its limit."""
        if self.ratio is None or self.row.wanted is None:
            return None
        return self.ratio >= self.row.wanted if self.row.ratio == "faster" else self.ratio <= self.row.wanted

    @property
    def peak_met(self) -> bool | None:
        """Whether the memory is within its limit."""
        return None if self.peak is None or self.row.peak_limit is None else self.peak < self.row.peak_limit

    def as_json(self) -> dict[str, Any]:
        """Return the row for the JSON document."""
        row = self.row
        return {
            "name": row.name,
            "work": row.work,
            "command": row.subject,
            "baseline": row.baseline,
            "seconds": self.seconds,
            "baseline_seconds": self.baseline_seconds,
            "baseline_scale": row.scale,
            "ratio": self.ratio,
            "ratio_of": "baseline to command" if row.ratio == "faster" else "command to baseline",
            "wanted": row.wanted,
            "wanted_is": "at least" if row.ratio == "faster" else "at most",
            "met": self.met,
            "peak_mib": None if self.peak is None else self.peak / MIB,
            "peak_wanted_mib": None if row.peak_limit is None else row.peak_limit / MIB,
            "peak_met": self.peak_met,
            "error": self.error,
        }


def result(row: Row, measured: Mapping[str, Measurement]) -> Result:
    """Compute a row's figures from the medians of its two commands."""
    subject = measured[row.subject]
    baseline = None if row.baseline is None else measured[row.baseline]
    seconds = subject.median
    baseline_seconds = None if baseline is None or baseline.median is None else baseline.median * row.scale
    error = subject.error
    if error is None and baseline is not None and baseline.error is not None:
        error = f"{row.baseline}: {baseline.error}"
    ratio = None
    if seconds is not None and baseline_seconds is not None:
        ratio = baseline_seconds / seconds if row.ratio == "faster" else seconds / baseline_seconds
    return Result(row, seconds, baseline_seconds, ratio, subject.peak or None, error)


def machine() -> dict[str, Any]:
    """Return facts about the machine and the versions of programs, which the figures depend on."""
    about = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo")}
    memory = {line.partition(":")[0]: line.split()[1] for line in _lines("/proc/meminfo")}
    return {
        "cpu": about.get("model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_mib": int(memory.get("MemTotal", 0)) // 1024,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "perf": _first_line("perf", "--version"),
        "compiler": _first_line("cc", "--version"),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _first_line(*words: str) -> str | None:
    """Return the first line of a program's output; None if the program is missing or fails."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.splitlines()[0]


def table(results: Sequence[Result]) -> Table:
    """Make the table for people."""
    shown = Table(box=None, header_style="bold", pad_edge=False)
    shown.add_column("Work")
    for name in ("Median", "Ratio", "Wanted"):
        shown.add_column(name, justify="right")
    shown.add_column("Met")
    shown.add_column("Peak MiB", justify="right")
    shown.add_column("")
    for one in results:
        relation = "≥" if one.row.ratio == "faster" else "≤"
        failed = one.met is False or one.peak_met is False
        shown.add_row(
            one.row.work,
            "" if one.seconds is None else f"{one.seconds:.3f} s",
            "" if one.ratio is None else f"{one.ratio:.2f}",
            "" if one.row.wanted is None else f"{relation} {one.row.wanted:g}",
            {True: "yes", False: "no", None: ""}[one.met],
            "" if one.peak is None else f"{one.peak / MIB:.0f}",
            one.error or ("more memory than wanted" if one.peak_met is False else ""),
            style="red" if one.error or failed else None,
        )
    return shown


def machine_lines(about: Mapping[str, Any]) -> list[str]:
    """Describe the machine in two lines."""
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", *PACKAGES))
    return [
        f"{about['cpu']}, {about['cores']} cores, {about['memory_mib']} MiB, Linux {about['kernel']} {about['architecture']}",
        f"{about['perf'] or 'no perf'}; {about['compiler'] or 'no C compiler'}; {versions}",
    ]
