"""Reads registers of a PCI function in a pattern that cannot be mistaken, with the time before and after each read.

A program of its own, of the standard library alone: it starts in a moment, also as root with ``-I -S``. Its only output is a file of JSON,
which :mod:`ptttool.selftest.readings` reads.

Nothing but the first 64 bytes of configuration space is read, as ``lspci`` does. The offsets follow a de Bruijn sequence: any three of
them in a row occur once in 4,096 reads.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

REGISTERS = 16
"""Registers of four bytes that every function has, and that reading does not change."""
WINDOW = 3
MOST = REGISTERS**WINDOW
"""Reads of one run at most: then the pattern would begin anew."""
SPACED, POWERS = 3, 18
_BEGIN = 2500


def offsets() -> list[int]:
    """Return the offsets of all reads, :data:`MOST` of them: a de Bruijn sequence of registers (Lyndon words, Fredricksen and Maiorana)."""
    sequence: list[int] = []
    word = [0] * (WINDOW + 1)

    def extend(length: int, period: int) -> None:
        if length > WINDOW:
            if WINDOW % period == 0:
                sequence.extend(word[1 : period + 1])
            return
        word[length] = word[length - period]
        extend(length + 1, period)
        for register in range(word[length - period] + 1, REGISTERS):
            word[length] = register
            extend(length + 1, length)

    extend(1, 1)
    # The sequence begins with long repetitions: it is a circle, and begins elsewhere.
    return [4 * register for register in sequence[_BEGIN:] + sequence[:_BEGIN]]


def gaps(count: int) -> Iterator[float]:
    """Yield the seconds to wait after each read: none, then 1 µs to 131 ms three times, then none."""
    spaced = [0.0] * 8 + [1e-6 * 2**power for power in range(POWERS)] * SPACED
    for number in range(count):
        yield spaced[number] if number < len(spaced) else 0.0


def read(config: str, waits: Iterator[float], *, watched: bool) -> tuple[list[tuple[int, str, int, int]], str | None]:
    """Read until the waits end, SIGTERM comes, or a read fails; ``watched``: also until standard input ends, as it does with its owner.

    Returns
    -------
    reads : list of (offset, data, before, after)
        Data in hexadecimal, times of CLOCK_MONOTONIC in nanoseconds.
    problem : str or None
        Why it ended early.
    """
    reads: list[tuple[int, str, int, int]] = []
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    now, clock = time.clock_gettime_ns, time.CLOCK_MONOTONIC
    try:
        descriptor = os.open(config, os.O_RDONLY | os.O_CLOEXEC)
        for offset, wait in zip(offsets(), waits, strict=False):
            before = now(clock)
            data = os.pread(descriptor, 4, offset)
            after = now(clock)
            reads.append((offset, data.hex(), before, after))
            if len(data) != 4:
                return reads, f"{len(data)} bytes of 4 were read at {offset:#x}"
            if wait and watched:
                stopped = bool(select.select([0], [], [], wait)[0]) or stopped
            elif wait:
                time.sleep(wait)
            if stopped:
                break
    except OSError as error:
        return reads, error.strerror or str(error)
    return reads, None


def main(config: str, function: str, output: str, how: str) -> int:
    """Read, and write what was read; `how` is a number of reads, or ``every SECONDS``."""
    word, _, seconds = how.partition(" ")
    # Around the time that is asked for: the waits are a pattern, too, by which completions alone are told apart.
    spread = (float(seconds) * (0.5 + offset / (4 * REGISTERS - 4)) for offset in offsets() if word == "every")
    waits = spread if word == "every" else gaps(min(int(word), MOST))
    reads, problem = read(config, waits, watched=word == "every")
    columns = ["offset", "data", "before_ns", "after_ns"]
    document = {"bdf": function, "clock": "CLOCK_MONOTONIC", "columns": columns, "reads": reads, "problem": problem}
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - a descriptor
        json.dump(document, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
