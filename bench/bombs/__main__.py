"""Give every reader hostile inputs of the sizes n, 2n, 4n, and show what they cost: ``python -m bench.bombs [NAME…]``.

Each command runs alone, with limits on processor time and address space. Work is bounded where the last two columns are at most 4, the
growth of the input. They stay empty where a command takes so little that the growth is noise.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.bombs import BOMBS, Bomb, bytes_below

FACTORS = (1, 2, 4)
SECONDS, ADDRESS_SPACE = 120, 8 << 30
# Below these, growth is noise.
LEAST_SECONDS, LEAST_MEMORY = 0.3, 30 << 20


@dataclass(frozen=True)
class Cost:
    """What one command took.

    Attributes
    ----------
    size : int
        Bytes of the input.
    seconds : float
        Processor time, user and system.
    peak : int
        Largest resident memory in bytes.
    exit_code : int
        Exit code; that of a signal is negative.
    """

    size: int
    seconds: float
    peak: int
    exit_code: int


def limits(seconds: int, address_space: int) -> Callable[[], None]:
    """Return a function that limits a child process."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return limit


def cost_of(arguments: list[str], size: int) -> Cost:
    """Run ptttool."""
    child = subprocess.Popen(
        [sys.executable, "-m", "ptttool", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits(SECONDS, ADDRESS_SPACE),
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return Cost(size, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, child.returncode)


def run(bomb: Bomb, factor: int) -> Cost:
    """Make a bomb and run the command that reads it."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = bomb.make(Path(folder), bomb.size * factor)
        return cost_of(arguments, bytes_below(Path(folder)))


def growth(first: float, last: float, base: float, least: float) -> str:
    """Return how much more the last took than the first, above what a command without input takes; empty where it is too little."""
    first, last = first - base, last - base
    return f"{last / max(first, least):.1f}" if last > least else ""


def main(names: list[str]) -> int:
    """Print the table; return 1 if a command did not end as it has to."""
    base = cost_of(["list", "--json", "--demo"], 0)
    sys.stdout.write("| input | what is hostile | bytes | CPU seconds | MiB | exit | × seconds | × memory |\n")
    sys.stdout.write("| --- | --- | --: | --: | --: | --: | --: | --: |\n")
    bad = 0
    for name, bomb in BOMBS.items():
        if names and name not in names:
            continue
        costs = [run(bomb, factor) for factor in FACTORS]
        bad += any(cost.exit_code != bomb.exit_code for cost in costs)
        cells = [
            name,
            bomb.what,
            " ".join(f"{cost.size:,}" for cost in costs),
            " ".join(f"{cost.seconds:.2f}" for cost in costs),
            " ".join(f"{cost.peak >> 20}" for cost in costs),
            " ".join(str(code) for code in sorted({cost.exit_code for cost in costs})),
            growth(costs[0].seconds, costs[-1].seconds, base.seconds, LEAST_SECONDS),
            growth(costs[0].peak, costs[-1].peak, base.peak, LEAST_MEMORY),
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
        sys.stdout.flush()
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
