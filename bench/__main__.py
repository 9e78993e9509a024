"""``python -m bench``: parse the options, generate recordings, measure, report."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from bench import report
from bench.checks import Check, checks, light
from bench.commands import Measurement, environment, run
from bench.inputs import PTTTOOL, Input, NoRoomError, input_name, prepare, records_of
from bench.plan import FORMATS, FULL, HERE, QUICK, TABLE_ROWS, Plan, Sizes, plan, table_of
from ptttool.cli.terminal.talk import console

ROUNDS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure. The exit code is 1 if a check failed, because the figures then mean nothing. A missed ratio is not a failure."""
    options = _options(arguments)
    folder: Path = options.data
    sizes, rounds = (QUICK, 1) if options.quick else (FULL, options.rounds)
    whole = plan(sizes, {}, folder, options.only)
    if not whole.rows:
        _say(f"unknown row {options.only!r}; known: {', '.join(row.name for row in plan(sizes, {}, folder).rows)}")
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    inputs, missing = _inputs(whole, sizes, folder)
    chosen = plan(sizes, inputs, folder, options.only)
    measured = {name: Measurement(command) for name, command in chosen.commands.items()}
    for measurement in measured.values():
        measurement.error = missing.get(measurement.command.input)
    _prepare_columns(chosen, inputs, sizes, folder, measured)
    _prepare_tables(chosen, inputs, sizes, folder, measured)
    for name, measurement in measured.items():
        if options.quick:
            run(measurement, timed=True, memory=True)
        elif not measurement.command.slow:
            _say(f"untimed: {name}")
            run(measurement, timed=False)
    small = {form: inputs[name] for form in FORMATS if (name := input_name(form, sizes.small)) in inputs}
    found = [] if options.no_checks else _checked(chain(light(chosen.commands), checks(small, chosen.commands, measured)))
    for number in range(0 if options.quick else rounds):
        for name, measurement in measured.items():
            if measurement.error is None and number < (measurement.command.rounds or rounds):
                _say(f"round {number + 1} of {rounds}: {name}")
                run(measurement, timed=True)
    _report(options.output, options.quick, rounds, inputs.values(), found, chosen, measured)
    return 0 if all(check.good for check in found) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure ptttool against perf on generated recordings.")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results.json", help="file for the JSON (default: %(default)s)")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("BENCH_DIR") or HERE / "data"), help="folder for recordings, kept (BENCH_DIR)"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="number of timed runs of each command (default: %(default)s)")
    parser.add_argument("--only", metavar="NAME", help="only rows with this in their name")
    parser.add_argument("--quick", action="store_true", help="small recordings and one round: for tests, the figures mean nothing")
    parser.add_argument("--no-checks", action="store_true", help="do not check the output of the commands")
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    return options


def _inputs(whole: Plan, sizes: Sizes, folder: Path) -> tuple[dict[str, Input], dict[str, str]]:
    """Return the recordings by name, and for those that cannot be made the reason."""
    inputs, missing = {}, {}
    needed = {command.input for command in whole.commands.values()}
    for form in FORMATS:
        for size in (sizes.small, sizes.middle, sizes.large):
            name = input_name(form, size)
            if name not in needed:
                continue
            _say(f"recording: {name}")
            try:
                inputs[name] = prepare(folder, form, size)
            except (NoRoomError, subprocess.CalledProcessError) as error:
                missing[name] = str(error)
    return inputs, missing


def _prepare_columns(chosen: Plan, inputs: dict[str, Input], sizes: Sizes, folder: Path, measured: dict[str, Measurement]) -> None:
    """Compile the loop in C, and write the records without a container to files."""
    wanted = [name for name in chosen.commands if name.startswith("columns-")]
    if not wanted:
        return
    problem = _compile(HERE / "columns.c", folder / "columns")
    if problem is not None:
        _say(problem)
        for name in wanted:
            if name.startswith("columns-c-"):
                measured[name].error = problem
    for form in FORMATS:
        recording = inputs.get(input_name(form, sizes.small))
        if recording is None or not any(name.endswith(form) for name in wanted):
            continue
        with recording.path.with_suffix(".raw").open("wb") as file:
            for piece in records_of(recording, form):
                file.write(piece)


def _prepare_tables(chosen: Plan, inputs: dict[str, Input], sizes: Sizes, folder: Path, measured: dict[str, Measurement]) -> None:
    """Decode the start of the small recordings to tables for the Parquet writers."""
    missing = [name for name in ("pyarrow",) if importlib.util.find_spec(name) is None]
    for form in FORMATS:
        wanted = [name for name in chosen.commands if name.startswith("writer-") and name.endswith(form)]
        recording = inputs.get(input_name(form, sizes.small))
        if wanted and missing:
            for name in wanted:
                measured[name].error = f"no {missing[0]}: make test installs it"
        elif wanted and recording is not None:
            _say(f"table: {recording.path.name}")
            output = str(table_of(folder, form, sizes.small))
            words = ["decode", str(recording.path), "--limit", str(TABLE_ROWS), "--to", "parquet", "-o", output, "--force"]
            subprocess.run([*PTTTOOL, *words], stderr=subprocess.DEVNULL, check=True, env=environment())


def _compile(source: Path, program: Path) -> str | None:
    """Compile a program in C. Return None, or the reason why that failed."""
    compiler = os.environ.get("CC") or "cc"
    if shutil.which(compiler) is None:
        return f"no C compiler ({compiler}): install gcc to compare with the loop in C"
    done = subprocess.run([compiler, "-O2", "-std=c11", "-o", str(program), str(source)], stderr=subprocess.PIPE, text=True, check=False)
    return f"{compiler} failed: {done.stderr.strip().splitlines()[-1]}" if done.returncode else None


def _checked(found: Iterable[Check]) -> list[Check]:
    held = []
    for check in found:
        held.append(check)
        if not check.good:
            _say(f"wrong: {check.name}: {check.text}: {check.expected} expected, {check.found} found")
    return held


def _report(
    output: Path, quick: bool, rounds: int, inputs: Iterable[Input], found: list[Check], chosen: Plan, measured: dict[str, Measurement]
) -> None:
    results = [report.result(row, measured) for row in chosen.rows]
    about = report.machine()
    document = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "machine": about,
        "rounds": rounds,
        "inputs": [{**one.about, "file": one.path.name} for one in inputs],
        "checks": [check.as_json() for check in found],
        "commands": {name: measurement.as_json() for name, measurement in measured.items()},
        "rows": [one.as_json() for one in results],
    }
    output.write_text(json.dumps(document, indent=2) + "\n")
    out = console()
    for line in report.machine_lines(about):
        out.print(line)
    out.print(f"medians of {rounds} round{'s' if rounds > 1 else ''}; {sum(check.good for check in found)} of {len(found)} checks hold")
    if quick:
        out.print("quick: the recordings are too small and the rounds too few for meaningful figures")
    out.print()
    out.print(report.table(results))
    out.print()
    out.print("Ratio: with ≥, the baseline's time by ours (perf, or one job instead of two); with ≤, our time by the baseline's.")
    _say(f"written to {output}")


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
