"""What perf counts and the seconds that it is divided by are of one interval: with the real perf, and a process that counts its faults.

A law, not a time: however busy the machine is, each page fault between perf's first answer and the word to turn the event off is in the
recording, and none from before perf was told to turn it on, or after it has said that it is off.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ptttool.capture.perf.recorder import Outcome, Recorder
from ptttool.capture.perf.switch import Switch
from tests import ROOT

# Touches new pages again and again, and prints how many, and when each begins and ends.
FAULTS = """
import mmap, time
while True:
    began, area = time.monotonic(), mmap.mmap(-1, 16 << 12)
    for page in range(16):
        area[page << 12] = 1
    area.close()
    print(began, time.monotonic(), 16, flush=True)
    time.sleep(0.001)
"""
# Prints the descriptors that it has, and how it handles signals.
SHOW = (
    "import os, signal; names = ('SIGHUP', 'SIGQUIT', 'SIGINT', 'SIGPIPE', 'SIGXFSZ');"
    "print([int(n) for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')],"
    "*(int(signal.getsignal(getattr(signal, n)) == signal.SIG_IGN) for n in names))"
)


def real(event: list[str], output: Path, switch: Switch, **how: object) -> Outcome:
    words = ["perf", "record", *event, "-C", "0", "-k", "CLOCK_MONOTONIC", "-o", str(output), *switch.options]
    return Recorder(words, output, switch, **how).run()  # type: ignore[arg-type]


def may_record(folder: Path) -> bool:
    words = ["perf", "record", "-e", "page-faults", "-C", "0", "-o", str(folder / "try.data"), "--", "true"]
    return subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.parametrize("seconds", [0.05, 0.5])
def test_what_is_counted_and_the_time_are_of_one_interval(tmp_path: Path, seconds: float) -> None:
    if not may_record(tmp_path):
        pytest.skip("perf may not record here")
    counting = subprocess.Popen([sys.executable, "-I", "-S", "-c", FAULTS], stdout=subprocess.PIPE, text=True)
    try:
        assert counting.stdout is not None
        os.sched_setaffinity(counting.pid, {0})
        before = float(counting.stdout.readline().split()[1])
        with Switch() as switch:
            outcome = real(["-e", "page-faults", "-c", "1"], tmp_path / "x.data", switch, seconds=seconds)
    finally:
        counting.kill()
        said, _ = counting.communicate()
    on_told, off_told, on, off = switch.enabling, switch.disabling, switch.enabled, switch.disabled
    assert outcome.traced is not None
    assert on_told and on and off_told and off
    # On and off are in turn within these, so the time that was traced is between the shortest and the longest that they allow.
    assert off_told - on <= outcome.traced <= off - on_told
    assert outcome.traced >= seconds
    shown = subprocess.run(
        ["perf", "script", "-i", str(tmp_path / "x.data"), "--ns", "-F", "pid,time", "--pid", str(counting.pid)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    times = [float(line.split()[1].rstrip(":")) for line in shown.stdout.splitlines()]
    assert all(on_told <= one <= off for one in times)
    rounds = [(float(begin), float(end), int(pages)) for begin, end, pages in map(str.split, said.splitlines()[:-1])]
    within = [(begin, end, pages) for begin, end, pages in rounds if begin > on and end < off_told]
    for begin, end, pages in within:
        assert sum(begin <= one <= end for one in times) >= pages
    assert len(within) > 1
    # There was enough to count before and after it.
    assert before < on_told
    assert rounds[-1][0] > off


def test_the_command_has_the_descriptors_and_signals_of_before(tmp_path: Path) -> None:
    """And the status of one that cannot be run is a shell's."""
    script = (
        "import sys; from pathlib import Path\n"
        "from ptttool.capture.perf.recorder import Recorder\n"
        "from ptttool.capture.perf.switch import Switch\n"
        "with Switch() as switch:\n"
        "    words = [sys.executable, sys.argv[1], *'record -e hisi_ptt0_0/x/ -C 0 -m ,64M -o'.split(), sys.argv[2], *switch.options]\n"
        "    outcome = Recorder(words, Path(sys.argv[2]), switch, command=sys.argv[3:]).run()\n"
        "sys.exit(outcome.command_status)\n"
    )
    standin = str(ROOT / "tests" / "standin" / "perf")

    def run(*command: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        words = [*prefix, sys.executable, "-c", script, standin, str(tmp_path / "perf.data"), *command]
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)

    shown = run(sys.executable, "-I", "-c", SHOW)
    # Python ignores the last two by itself.
    assert shown.stdout.rsplit("]", 1) == ["[0, 1, 2", " 0 0 0 1 1\n"], shown.stderr
    assert run(sys.executable, "-I", "-c", SHOW, prefix=("nohup",)).stdout.endswith("] 1 0 0 1 1\n")
    done = run("sh", "-c", 'echo "$1" >&2; exit 9', "sh", "a  b")
    assert (done.returncode, done.stderr) == (9, "a  b\n")
    assert [run(command).returncode for command in ("no-such-command", "/")] == [127, 126]
