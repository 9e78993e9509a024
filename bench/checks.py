"""Checks that the output of the measured commands is complete and correct, made before anything is timed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from bench.commands import Command, Measurement, environment
from bench.inputs import PTTTOOL, Input
from bench.plan import FORMATS
from ptttool.tlp.columns import ALL_COLUMNS

# Lines of perf's text for each record.
PERF_LINES = {"8dw": 6, "4dw": 4}


@dataclass(frozen=True)
class Check:
    """A check.

    Parameters
    ----------
    name : str
        Its name.
    text : str
        What must be true.
    expected, found : Any
        The expected value and the actual one.
    """

    name: str
    text: str
    expected: Any
    found: Any

    @property
    def good(self) -> bool:
        """Whether the check holds."""
        return bool(self.expected == self.found)

    def as_json(self) -> dict[str, Any]:
        """Return the check for the JSON document."""
        return {"name": self.name, "text": self.text, "good": self.good, "expected": self.expected, "found": self.found}


Checker = Callable[[str, Input, Mapping[str, Command], Mapping[str, Measurement]], Iterator[Check]]


def checks(inputs: Mapping[str, Input], commands: Mapping[str, Command], measured: Mapping[str, Measurement]) -> Iterator[Check]:
    """Yield all checks of the chosen commands, which have run once; ``inputs`` are the small recordings by format."""
    for form in FORMATS:
        if form in inputs:
            for checker in (_summary, _parquet, _text, _columns):
                yield from checker(form, inputs[form], commands, measured)


def light(commands: Mapping[str, Command]) -> Iterator[Check]:
    """Yield checks that commands which must start fast import nothing heavy."""
    code = (
        "import json, sys; from ptttool.cli.main import main; main(sys.argv[1:]);"
        "sys.stderr.write('\\n' + json.dumps([name for name in ('numpy', 'polars') if name in sys.modules]))"
    )
    for name in ("help", "list"):
        if name in commands:
            words = [sys.executable, "-c", code, *commands[name].words[len(PTTTOOL) :]]
            done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True, env=environment())
            imported = json.loads(done.stderr.splitlines()[-1])
            yield Check(f"light-{name}", f"{name} imports neither numpy nor polars", [], imported)


def _summary(form: str, recording: Input, commands: Mapping[str, Command], _: Mapping[str, Measurement]) -> Iterator[Check]:
    command = commands.get(f"info-{form}")
    if command is None:
        return
    done = subprocess.run([*command.words, "--json"], stdout=subprocess.PIPE, check=True, env=environment())
    document = json.loads(done.stdout)
    yield Check(f"info-{form}", "info counts the TLPs that were generated", recording.records, document["records"])
    added = sum(kind["records"] for kind in document["kinds"].values())
    yield Check(f"info-kinds-{form}", "its kinds add up to them", recording.records, added)


def _parquet(form: str, recording: Input, commands: Mapping[str, Command], measured: Mapping[str, Measurement]) -> Iterator[Check]:
    command = commands.get(f"parquet-{form}")
    if command is None or measured[command.name].error is not None:
        return
    path = command.words[command.words.index("-o") + 1]
    frame = pl.scan_parquet(path)
    names = frame.collect_schema().names()
    yield Check(f"parquet-columns-{form}", "the Parquet file has all columns", list(ALL_COLUMNS), names)
    height = frame.select(pl.len()).collect().item()
    yield Check(f"parquet-{form}", "and a row for every TLP", recording.records, height)
    loop = measured.get(f"columns-c-default-{form}")
    if loop is None or loop.error is not None:
        return
    for name, total in loop.report["columns"].items():
        column = pl.col(name).to_physical().cast(pl.UInt64)
        valid, added = frame.select(column.count().alias("valid"), column.sum().alias("sum")).collect().row(0)
        found = {"valid": valid, "sum": added}
        yield Check(f"parquet-{name}-{form}", f"column {name} adds up to what a decoder in C finds", total, found)


def _text(form: str, recording: Input, commands: Mapping[str, Command], _: Mapping[str, Measurement]) -> Iterator[Check]:
    records = recording.records
    for kind, text, expected in (
        ("csv", "CSV has a header line and a line for every TLP", records + 1),
        ("jsonl", "JSON lines has a line for every TLP", records),
    ):
        command = commands.get(f"{kind}-text-{form}")
        if command is not None:
            yield Check(f"{kind}-{form}", text, expected, _counts(command, "wc -l")[0])
    own, perf = commands.get(f"perf-text-{form}"), commands.get(f"perf-{form}")
    if own is None:
        return
    lines = _counts(own, "grep -c '^\\.  '")[0]
    yield Check(f"perf-text-{form}", "perf's text has all lines of every TLP", PERF_LINES[form] * records, lines)
    if perf is not None:
        # For 4DW, perf before June 2026 prints wrong numbers of other lengths, so only the number of lines is compared.
        count = "wc -lc" if form == "8dw" else "wc -l"
        real = _counts(perf, f"grep -e '^\\.  [0-9a-f]\\{{8\\}}: ' -e '^\\. \\.\\.\\. HISI PTT data: ' | {count}")
        yield Check(f"perf-size-{form}", "its size is that of perf's own output", real, _counts(own, count))


def _counts(command: Command, pipeline: str) -> list[int]:
    """Return the numbers that a pipeline of counting programs prints for a command's output."""
    line = f"{shlex.join(command.words)} 2>/dev/null | LC_ALL=C {pipeline}"
    done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, text=True, check=False, env=environment())
    return [int(number) for number in done.stdout.split()]


def _columns(form: str, recording: Input, _: Mapping[str, Command], measured: Mapping[str, Measurement]) -> Iterator[Check]:
    for chosen in ("core", "default"):
        ours, loop = (measured.get(f"{name}-{chosen}-{form}") for name in ("columns", "columns-c"))
        if ours is None or loop is None or ours.error is not None or loop.error is not None:
            continue
        text = f"ptttool and the loop in C find the same in process ({chosen} columns)"
        yield Check(f"columns-{chosen}-{form}", text, loop.report["columns"], ours.report["columns"])
        yield Check(f"columns-records-{chosen}-{form}", "in all records", recording.records, loop.report["records"])
