"""Every error of perf that was recorded becomes one cause with a code of its own, an exit code by kind, and a fix."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ptttool.capture.perf.command import MINIMUM_AUX_SIZE
from ptttool.capture.perf.errors import Attempt, translate
from ptttool.errors import AccessError, DeviceError, OutputError, PerfError, PtttoolError, UsageError
from tests import ROOT

CASES: list[dict[str, Any]] = json.loads((ROOT / "fixtures" / "perf-errors.json").read_text(encoding="utf-8"))
FAILED = [one for one in CASES if "Captured and wrote" not in one["stderr"]]

# By case; those of both versions of perf mean the same unless the version is named.
EINVAL = """unknown-port port-of-other-ptt ports-one-unknown port-and-requester-bits unknown-requester requester-of-other-ptt requester-zero
requester-is-root-port filter-all-ones filter-none filter-twice type-0 type-8 type-15 type-255 type-None direction-4 direction-15 format-2
format-15 event-empty-slashes event-wildcard-prefix event-glob event-modifier-u event-modifier-k ptt-without-ports"""
EXPECTED: dict[str, tuple[type[PtttoolError], str]] = {
    **dict.fromkeys(EINVAL.split(), (PerfError, "event-refused")),
    "filter-negative": (PerfError, "event-refused"),
    "6.1/filter-negative": (UsageError, "event-syntax"),
    "6.1/event-glob": (DeviceError, "no-pmu"),
    **dict.fromkeys(["filter-21-bits", "type-256", "direction-16", "format-16"], (UsageError, "value-too-big")),
    **dict.fromkeys(["filter-name", "type-abc", "filter-no-value"], (UsageError, "event-syntax")),
    "6.1/filter-no-value": (PerfError, "event-refused"),
    "unknown-term": (UsageError, "unknown-term"),
    "event-bare": (DeviceError, "no-pmu"),
    "6.1/event-bare": (UsageError, "event-syntax"),
    **dict.fromkeys(["event-unknown-pmu", "event-upper-case"], (DeviceError, "no-pmu")),
    **dict.fromkeys(["no-a", "per-thread", "pid"], (UsageError, "needs-cpu")),
    "cpu-9": (UsageError, "no-such-cpu"),
    **dict.fromkeys(["m-,128K", "m-,4M", "m-,8M", "m-,1"], (UsageError, "aux-too-small")),
    **dict.fromkeys(["snapshot-S", "snapshot-S-size", "overwrite", "aux-sample", "threads"], (UsageError, "option-refused")),
    "6.1/overwrite": (PerfError, "perf-crashed"),
    "out-dir-missing": (OutputError, "output-folder-missing"),
    "out-full": (OutputError, "cannot-write"),
    "command-missing": (UsageError, "command-missing"),
    "two-events-same-ptt": (UsageError, "one-event-only"),
    "two-ptts": (PerfError, "aux-refused"),
    "group": (PerfError, "perf-crashed"),
    **dict.fromkeys([f"user-paranoid-{n}" for n in (4, 3, 2, 1)], (AccessError, "perf-not-permitted")),
    **dict.fromkeys([f"user-paranoid-2-{n}" for n in ("C0", "m16M", "m1,16M")], (AccessError, "perf-not-permitted")),
    **dict.fromkeys(["user-paranoid-0-m16M", "user-paranoid-0-m1,16M"], (AccessError, "mlock-limit")),
    # Without -m an unprivileged perf takes 128 KiB.
    **dict.fromkeys(["user-paranoid-0", "user-paranoid-0-C0"], (UsageError, "aux-too-small")),
    **dict.fromkeys(["busy-a", "busy-other-filter", "busy-C1", "busy-C0-then-C0"], (PerfError, "device-busy")),
}


def attempt_of(case: dict[str, Any]) -> Attempt:
    """What ptttool would have known when the recorded command failed."""
    name: str = case["case"]
    small = {"m-,128K": 128 << 10, "m-,4M": 4 << 20, "m-,8M": 8 << 20, "user-paranoid-0": 128 << 10, "user-paranoid-0-C0": 128 << 10}
    return Attempt(
        stderr=case["stderr"],
        exit_status=case["exit"],
        device="hisi_ptt0_2",
        output="err.data",
        aux_size=small.get(name, MINIMUM_AUX_SIZE),
        privileged=case["user"] == 0,
        paranoid=int(name.removeprefix("user-paranoid-").split("-m")[0].split("-C")[0]) if name.startswith("user") else 2,
    )


def test_every_recorded_failure_has_an_expectation() -> None:
    names = {one["case"] for one in FAILED}
    assert len(FAILED) > 80
    assert names - {name.rpartition("/")[2] for name in EXPECTED} == set()
    assert {name.rpartition("/")[2] for name in EXPECTED} - names == set()


@pytest.mark.parametrize("case", FAILED, ids=lambda one: f"{one['perf']}/{one['case']}")
def test_recorded_failure(case: dict[str, Any]) -> None:
    error = translate(attempt_of(case))
    kind, code = EXPECTED.get(f"{case['perf']}/{case['case']}", EXPECTED.get(case["case"], (PtttoolError, "?")))
    assert (type(error), error.code) == (kind, code)
    assert "\n" not in error.message + (error.hint or "")
    assert error.hint
    assert error.details["perf_stderr"] == case["stderr"]


def test_refused_event_is_narrowed_by_what_is_known() -> None:
    stderr = "Error:\nThe sys_perf_event_open() syscall returned with 22 (Invalid argument) for event (hisi_ptt0_2/filter=0x00801/).\n"
    assert translate(Attempt(stderr, 255, filter_listed=False)).code == "filter-gone"
    assert translate(Attempt(stderr, 255, filter_listed=True)).code == "event-refused"
    assert translate(Attempt(stderr, 255, privileged=False, paranoid=2)).code == "perf-not-permitted"
    assert translate(Attempt(stderr, 255, privileged=True, paranoid=2)).code == "event-refused"


OTHER = [
    ("failed to mmap with 12 (Cannot allocate memory)\n", 255, PerfError, "no-memory"),
    ("failed to mmap with 1 (Operation not permitted)\n", 255, AccessError, "mlock-limit"),
    ("Error:\nThe hisi_ptt0_0/filter=0x80001/ event is not supported.\n", 255, PerfError, "perf-cannot-record"),
    ("x() sys_perf_event_open() syscall returned with 13 (Permission denied) for event (e).\n", 255, AccessError, "perf-not-permitted"),
    ("x() sys_perf_event_open() syscall returned with 19 (No such device) for event (e).\n", 255, DeviceError, "device-gone"),
    ("x() sys_perf_event_open() syscall returned with 95 (Operation not supported) for event (e).\n", 255, PerfError, "perf-cannot-record"),
    ("x() sys_perf_event_open() syscall returned with 5 (Input/output error) for event (e).\n", 255, PerfError, "perf-failed"),
    ("Failed to collect 'e' for the './x' workload: Permission denied\n", 255, UsageError, "command-not-executable"),
    ("failed to open /root/x.data : Permission denied\nPerf session creation failed.\n", 255, AccessError, "output-not-permitted"),
    ("failed to open /x/x.data : No space left on device\nPerf session creation failed.\n", 255, OutputError, "disk-full"),
    ("failed to write perf data, error: No space left on device\n", 255, OutputError, "disk-full"),
    ("failed to write perf data, error: Input/output error\n", 255, OutputError, "cannot-write"),
    ("Can't remove old data: Unknown file found (/tmp/f.old)\nPerf session creation failed.\n", 255, OutputError, "cannot-write"),
    ("incompatible file format (rerun with -v to learn more)", 255, PerfError, "perf-incompatible"),
    ("WARNING: perf not found for kernel 6.8.0-60\n", 2, PerfError, "perf-missing"),
    ("perf: error while loading shared libraries: libopencsd.so.1: cannot open shared object file\n", 127, PerfError, "perf-broken"),
    ("", -9, PerfError, "perf-killed"),
    ("", -11, PerfError, "perf-crashed"),
    ("nothing known\nat all\n", 255, PerfError, "perf-failed"),
]


@pytest.mark.parametrize(("stderr", "status", "kind", "code"), OTHER, ids=[one[3] for one in OTHER])
def test_other_failure(stderr: str, status: int, kind: type[PtttoolError], code: str) -> None:
    error = translate(Attempt(stderr, status, aux_size=64 << 20))
    assert (type(error), error.code) == (kind, code)


def test_an_unknown_message_is_quoted() -> None:
    assert translate(Attempt("one\n\nthe last word\n", 255)).details["perf_message"] == "the last word"
    refused = "Error:\nThe sys_perf_event_open() syscall returned with 5 (Input/output error) for event (e).\n/bin/dmesg | grep -i perf\n"
    assert translate(Attempt(refused, 255)).details["perf_message"].count("Input/output error") == 1
    option = "  Error: unknown option `zap'\n\n Usage: perf record [<options>] [<command>]\n\n    -a, --all-cpus    system-wide\n"
    assert translate(Attempt(option, 129)).details["perf_message"] == "Error: unknown option `zap'"


def test_silence_on_a_full_disk() -> None:
    assert translate(Attempt("", 255, free=0)).code == "disk-full"
    assert translate(Attempt("", 255, free=1 << 30)).code == "cannot-write"
