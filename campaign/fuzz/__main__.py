"""``python -m campaign.fuzz``: share some time among the targets, and report the inputs and the findings."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from campaign.fuzz.corpus import CORPUS, FINDINGS, kept, minimised, name_of, replace
from campaign.fuzz.targets.contract import REPOSITORY, Target, targets

# Seconds beyond its time after which a worker hangs.
PATIENCE = 90.0


@dataclass
class Result:
    """What a worker did.

    Parameters
    ----------
    target : Target
        Its target.
    count : int
        Number of inputs.
    kinds : dict of str to int
        Findings by kind.
    new : list of bytes
        Inputs that reached something new.
    """

    target: Target
    count: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    new: list[bytes] = field(default_factory=list)


def run_worker(target: Target, seconds: float, seed: int, engine: str) -> Result:
    """Run a target in a process of its own; a process that crashes or hangs is a finding, too."""
    result = Result(target)
    with tempfile.TemporaryDirectory(prefix="ptttool-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        arguments = [target.name, name, "--seconds", str(seconds), "--seed", str(seed), "--engine", engine]
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "campaign.fuzz.worker", *arguments], cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
        )  # fmt: skip
        try:
            err = process.communicate(timeout=seconds + PATIENCE)[1]
            reason = None if process.returncode == 0 else f"the process ended with {process.returncode}\n{err[-4000:]}"
        except subprocess.TimeoutExpired:
            process.kill()
            reason = f"the process hung\n{process.communicate()[1][-4000:]}"
        counts = folder / "counts.json"
        if counts.exists():
            found = json.loads(counts.read_text())
            result.count, result.kinds = found["inputs"], found["kinds"]
        for path in (folder / "findings").glob("*") if (folder / "findings").is_dir() else ():
            keep_finding(target, path.name, path.read_bytes())
        if reason is not None:
            result.kinds[reason.splitlines()[0]] = 1
            current = folder / "current"
            data = current.read_bytes() if current.exists() else b""
            keep_finding(target, name_of(data), data)
            keep_finding(target, f"{name_of(data)}.txt", reason.encode(errors="backslashreplace"))
        result.new = [path.read_bytes() for path in (folder / "new").glob("*")] if (folder / "new").is_dir() else []
    return result


def keep_finding(target: Target, name: str, data: bytes) -> None:
    """Save a finding where the next run does not delete it."""
    place = FINDINGS / target.name
    place.mkdir(parents=True, exist_ok=True)
    (place / name).write_bytes(data)


def main() -> int:
    """Run the campaign; exit code 1 if there are findings."""
    usual = "own" if importlib.util.find_spec("atheris") is None else "atheris"
    parser = argparse.ArgumentParser(prog="python -m campaign.fuzz", description=__doc__)
    parser.add_argument("--seconds", metavar="N", type=float, default=60.0, help="time for all targets together; default: %(default)s")
    parser.add_argument("--only", metavar="WORDS", default="", help="targets that have these words in their names")
    parser.add_argument("--jobs", metavar="N", type=int, default=len(os.sched_getaffinity(0)), help="targets at the same time")
    parser.add_argument("--seed", metavar="N", type=int, default=time.time_ns() & 0x7FFF_FFFF, help="start of the random choices; printed")
    parser.add_argument("--engine", choices=("own", "atheris"), default=usual, help="default here: %(default)s")
    parser.add_argument("--grow", action="store_true", help="add to the corpus what reached new lines, and minimise it")
    options = parser.parse_args()
    chosen = [target for name, target in targets().items() if options.only in name]
    seconds = options.seconds * options.jobs / len(chosen)
    print(f"{len(chosen)} targets, {seconds:.1f} s each, engine {options.engine}, seed {options.seed}")
    print(f"{'target':24}{'inputs':>10}{'findings':>10}{'new':>8}")
    shutil.rmtree(FINDINGS, ignore_errors=True)
    total, findings = 0, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda target: run_worker(target, seconds, options.seed, options.engine), chosen):
            total += result.count
            findings += len(result.kinds)
            print(f"{result.target.name:24}{result.count:10}{len(result.kinds):10}{len(result.new):8}", flush=True)
            for kind, count in result.kinds.items():
                print(f"    {count} times: {kind}")
            if options.grow:
                replace(result.target, minimised(result.target, [*kept(result.target, CORPUS), *result.new]))
    print(f"{total} inputs, {findings} kinds of findings" + (f", saved in {FINDINGS.relative_to(REPOSITORY)}" if findings else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
