"""``ptttool tune sweep`` as a shell sees it: on a machine in a folder, under umockdev, with the real fio, at a terminal."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars
import pytest

from ptttool.cli.main import main
from ptttool.machine.sources.tree import TreeSource
from tests import ROOT
from tests.standin import as_root
from tests.support import machines

Run = Callable[..., tuple[int, str, str]]
ATTRIBUTE = "sys/bus/event_source/devices/hisi_ptt0_0/tune/qos_tx_p"
RATE = "rate=([0-9]+)"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return machines.copy_of(machines.NEW, tmp_path)


@pytest.fixture
def run(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("--rounds", "2", …)`` sweeps qos_tx_p on that machine; the workload prints the attribute's value as its rate."""
    monkeypatch.chdir(tree.parent)

    def run(*options: str, workload: str | None = None) -> tuple[int, str, str]:
        words = ["--sysfs", str(tree), "--device", "nvme0", "--events", "qos_tx_p", "--values", "0,1,2"]
        words += [*options, *([] if "--metric" in options else ["--metric", RATE])]
        code = main(["tune", "sweep", *words, "--", "sh", "-c", workload or f"echo rate=$(cat {tree / ATTRIBUTE})"])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert (tree / ATTRIBUTE).read_text().strip() == "1"
        return code, said.out, said.err

    return run


def test_findings(run: Run, tmp_path: Path) -> None:
    code, out, err = run("-o", "r.parquet", "--picture", "r.html", "--seed", "5", "-v")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("qos_tx_p=")]
    assert [(row[0], row[-1]) for row in rows] == [("qos_tx_p=1", "values"), ("qos_tx_p=0", "worse"), ("qos_tx_p=2", "better")]
    assert "ptttool tune set hisi_ptt0_0 qos_tx_p=2" in out
    assert "seed 5" in err
    assert err.count("ptttool: run ") == 21
    assert "http" not in (tmp_path / "r.html").read_text().replace("http-equiv", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == [machines.NEW, "own", "r.html", "r.parquet"]


def test_json(run: Run) -> None:
    code, out, _ = run("-o", "r.parquet", "--json", "--minimize", "--rounds", "8")
    document = json.loads(out)
    assert code == 0
    assert (document["plan"]["rounds"], document["plan"]["rounds_needed"], document["failed"]) == (8, 7, 0)
    (result,) = document["results"]
    assert (result["better"], result["best"], [one["verdict"] for one in result["comparisons"]]) == (
        "lower",
        "qos_tx_p=0",
        ["better", "worse"],
    )
    assert [one["median"] for one in result["settings"]] == [1, 0, 2]


@pytest.mark.parametrize("columns", ["40", "60", "80", "120"])
def test_width(run: Run, monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    _, out, _ = run("-o", "r.parquet", "--rounds", "2")
    table = out[: out.index("\n\n")].splitlines()[1:]
    assert max(len(line) for line in table) <= max(int(columns), 80)
    assert "Median" in table[0]


def test_dry_run_writes_and_runs_nothing(run: Run, tree: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    code, out, _ = run("--dry-run", "--seed", "3", workload="touch ran")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines()[-7:]] == [f"round {number}" for number in range(1, 8)]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "exit_code", "code"),
    [
        (("--values", "x", "-o", "r.parquet"), 2, "bad-assignment"),
        (("--values", ",", "-o", "r.parquet"), 2, "no-value"),
        (("--events", "qos", "-o", "r.parquet"), 2, "unknown-attribute"),
        (("--events", "", "-o", "r.parquet"), 2, "no-attribute"),
        (("--values", "1", "-o", "r.parquet"), 2, "one-setting"),
        (("--rounds", "0", "-o", "r.parquet"), 2, "bad-rounds"),
        (("--rounds", "1000", "-o", "r.parquet"), 2, "bad-rounds"),
        (("--seed", "-1", "-o", "r.parquet"), 2, "bad-seed"),
        (("--warmup", "-1", "-o", "r.parquet"), 2, "bad-warmup"),
        (("--design", "latin", "-o", "r.parquet"), 2, "bad-design"),
        (("--timeout", "soon", "-o", "r.parquet"), 2, "bad-duration"),
        (("--metric", "fio:iops", "-o", "r.parquet"), 2, "unknown-metric"),
        (("--picture", "r.png", "-o", "r.parquet"), 2, "bad-picture"),
        (("--device", "eth7", "-o", "r.parquet"), 3, "unknown-device"),
        ((), 2, "no-output"),
        (("-o", "-"), 2, "no-output"),
        (("-o", "."), 6, "is-a-folder"),
        (("-o", "none/r.parquet"), 6, "no-folder"),
        (("-o", "/proc/r.parquet"), 6, "cannot-write"),
        (("--resume", "none.runs"), 6, "no-such-file"),
        (("--trace", "--rootport nvme0", "-o", "r.parquet"), 2, "no-trace-metric"),
        (("--trace", "--rootprt nvme0", "-o", "r.parquet"), 2, "bad-trace"),
        (("--trace", "--rootport nvme0 -o x", "-o", "r.parquet"), 2, "bad-trace"),
        (("--trace", "'", "-o", "r.parquet"), 2, "bad-trace"),
        (("--metric", "trace:latency.ticks.p99", "-o", "r.parquet"), 2, "no-trace-options"),
        (("--metric", "trace:lateness.p99", "-o", "r.parquet"), 2, "unknown-analysis"),
    ],
)
def test_wrong_arguments(run: Run, options: tuple[str, ...], exit_code: int, code: str) -> None:
    status, out, _ = run(*options, "--json", workload="exit 1")
    assert (status, json.loads(out)["error"]["code"]) == (exit_code, code)


def test_the_workload_is_needed(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "sweep", "--sysfs", str(tree), "--device", "0_0", "--events", "qos_tx_p", "--values", "0", "--metric", RATE, "--json"]
    for workload, code in (([], "no-command"), (["--", "no-such-program"], "command-not-found")):
        assert main([*words, "-o", str(tree / "r.parquet"), *workload]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["code"] == code


def test_a_journal_that_cannot_be_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setenv("PTTTOOL_STATE_DIR", str(tmp_path / "state"))
    status, out, _ = run("-o", "r.parquet", "--json", "--rounds", "1")
    assert (status, json.loads(out)["error"]["code"]) == (6, "no-journal")
    assert not (tmp_path / "r.parquet.runs").exists()
    assert run("-o", "r.parquet", "--no-journal", "--rounds", "1")[0] == 0


def test_fio(run: Run, tmp_path: Path) -> None:
    """The real fio, whose null engine does as much as its time allows: no difference is seen, but numbers of every run."""
    assert shutil.which("fio"), "fio is missing: apt install fio"
    metrics = ["--metric", "fio:read.iops", "--metric", "fio:read.clat_p99"]
    fio = "fio --name=a --ioengine=null --size=8m --rw=read --bs=4k --output-format=json"
    code, out, _ = run("-o", "r.parquet", "--rounds", "1", "--values", "2", "--json", *metrics, workload=fio)
    assert code == 0
    document = json.loads(out)
    assert [(one["name"], one["unit"], one["better"]) for one in document["plan"]["metrics"]] == [
        ("fio:read.iops", "1/s", "higher"),
        ("fio:read.clat_p99", "ns", "lower"),
    ]
    table = polars.read_parquet(tmp_path / "r.parquet")
    assert table["fio:read.iops"].min() > 1000  # type: ignore[operator]
    assert table["fio:read.clat_p99"].null_count() == 0


def test_under_umockdev(tmp_path: Path) -> None:
    """The files of the running machine, as the kernel has them."""
    files = [f"/sys/bus/event_source/devices/hisi_ptt0_0/tune/{name}" for name in ("qos_tx_p", "qos_tx_np")]
    python = shlex.quote(sys.executable)
    sweep = f"{python} -m ptttool tune sweep --device nvme0 --events qos_tx_p,qos_tx_np --values 0,2 --design one-at-a-time --json"
    workload = f"-- sh -c 'echo a=$(cat {files[0]}) b=$(cat {files[1]})'"
    script = f"{sweep} --rounds 2 --metric 'regex:a=(.)' --metric 'regex:b=(.)' -o {tmp_path}/r.parquet {workload}; cat {' '.join(files)}"
    words = [*machines.umockdev(machines.NEW, tmp_path), "sh", "-c", script]
    environment = os.environ | {"PTTTOOL_STATE_DIR": str(tmp_path / "state"), "PTTTOOL_RUNTIME_DIR": str(tmp_path / "run")}
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    text, end, values = done.stdout.rpartition("}\n")
    assert values.split() == ["1", "1"]
    document: dict[str, Any] = json.loads(text + end)
    medians = [[one["median"] for one in result["settings"]] for result in document["results"]]
    assert medians == [[1, 0, 2, 1, 1], [1, 1, 1, 0, 2]]


class LiveTree(TreeSource):
    """A machine in a folder that passes for the running one."""

    live = True


@pytest.fixture
def live(run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Sweeps with a trace during each run, by the stand-in perf, of 0.2 s."""
    monkeypatch.setattr("ptttool.machine.discovery.TreeSource", LiveTree)
    monkeypatch.setattr("ptttool.capture.checks.host.read_rights", as_root.read_rights)
    monkeypatch.setattr("ptttool.capture.checks.host.running_processes", as_root.processes_here)
    monkeypatch.setenv("PATH", f"{ROOT / 'tests' / 'standin'}:{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_CASE", "good")

    def traced(*options: str, workload: str) -> tuple[int, str, str]:
        trace = ["--trace", "--rootport 0000:00:10.0 --format 8dw --duration 200ms", "--metric", "trace:summary.records"]
        return run(*trace, "--values", "2", "--rounds", "1", "-o", "r.parquet", "--json", *options, workload=workload)

    return traced


def test_a_trace_during_each_run(live: Run, tmp_path: Path) -> None:
    code, out, _ = live(workload="sleep 0.6")
    assert code == 0
    assert [one["median"] for one in json.loads(out)["results"][0]["settings"]] == [5569, 5569]
    assert sorted(path.name for path in tmp_path.iterdir()) == [machines.NEW, "own", "r.parquet"]


def test_a_run_that_ends_before_its_trace_does_not_count(live: Run) -> None:
    code, out, _ = live(workload="true")
    assert (code, json.loads(out)["error"]["ending"]) == (10, "no-trace")


def test_a_trace_that_fails(live: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_CASE", "busy-a")
    code, out, _ = live(workload="sleep 0.3")
    error = json.loads(out)["error"]
    assert (code, error["ending"], error["restored"]) == (10, "no-trace", True)


def test_ctrl_c_at_a_terminal(tree: Path, tmp_path: Path) -> None:
    """The terminal sends SIGINT to ptttool, which ends the workload, restores the value and says where the runs are."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        words = ["tune", "sweep", "--sysfs", str(tree), "--device", "0_0", "--events", "qos_tx_p", "--values", "2", "--metric", "x=(1)"]
        shell = f"echo x=1; [ -e {tmp_path}/ran ] && sleep 60; touch {tmp_path}/ran"
        os.execv(sys.executable, [sys.executable, "-m", "ptttool", *words, "-o", str(tmp_path / "r.parquet"), "--", "sh", "-c", shell])
    alarm = threading.Timer(50, os.kill, (pid, signal.SIGKILL))
    alarm.start()
    seen, sent = b"", False
    try:
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            seen += data
            if b"run 2 of 12" in seen and not sent:
                sent = os.write(terminal, b"\x03") == 1
    finally:
        alarm.cancel()
        os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert (tree / ATTRIBUTE).read_text().strip() == "1"
    assert len((tmp_path / "r.parquet.runs").read_text().splitlines()) == 2
    assert b"--resume" in seen
