"""``ptttool metrics``: read back by Prometheus' own parsers, compared with what the machine and the analyses say."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

import ptttool
from ptttool.api.metrics import MOST_RECORDINGS, Metrics, machine_metrics, recording_metrics
from ptttool.api.recording import open as open_recording
from ptttool.cli.main import main
from ptttool.doctor.contract import CHECKS
from ptttool.errors import UsageError
from ptttool.machine.discovery import read_machine
from ptttool.metrics.catalogue import METRICS
from ptttool.metrics.machine import MOST_ATTRIBUTES, MOST_DEVICES, MOST_FUNCTIONS, add_doctor, add_machine
from ptttool.metrics.model import Samples
from ptttool.metrics.text import text_of
from ptttool.testing import FakeMachine
from ptttool.testing.presets import kunpeng
from tests.support import captures, machines
from tests.support.machines import NEW, OLD
from tests.support.promtool import promtool

Labels = frozenset[tuple[str, str]]


def parsed(text: str, *, openmetrics: bool = False) -> dict[str, dict[Labels, float]]:
    """Samples by name and labels; every metric must have its help and its type."""
    found: dict[str, dict[Labels, float]] = {}
    for family in (parse_openmetrics if openmetrics else parse_prometheus)(text):
        assert family.documentation and family.type != "unknown"
        for sample in family.samples:
            labels = frozenset(sample.labels.items())
            assert labels not in found.setdefault(sample.name, {}), "a sample is there twice"
            found[sample.name][labels] = sample.value
    return found


def filled(add: Callable[..., None], *given: object) -> Samples:
    samples = Samples()
    add(samples, *given)
    return samples


def labels(**given: str) -> Labels:
    return frozenset((name.rstrip("_"), value) for name, value in given.items())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A recording of both directions, with reads and their completions."""
    path = tmp_path_factory.mktemp("metrics") / "both.data"
    assert main(["trace", "--demo", "--no-decode", "--rootport", "0000:00:10.0", "--direction", "both", "-o", str(path)]) == 0
    return str(path)


def test_of_a_machine() -> None:
    found = parsed(machine_metrics(demo=True).text())
    machine = ptttool.find_machine(demo=True, tune=True)
    assert found["ptttool_info"] == {labels(version=ptttool.__version__): 1}
    assert (found["ptttool_devices"], found["ptttool_pci_functions"]) == ({labels(): 3}, {labels(): 3})
    assert found["ptttool_tune_attribute_value"] == {
        labels(device=device.name, attribute=one.name): one.value for device in machine.devices for one in device.tune
    }
    assert found["ptttool_filters"][labels(device="hisi_ptt0_2", kind="requester")] == len(machine.devices[1].requesters)
    assert found["ptttool_link_speed_transfers_per_second"][labels(function="0000:01:00.0")] == 2.5e9
    assert found["ptttool_link_width_lanes"][labels(function="0000:01:00.0")] == 1
    link = machine.functions[ptttool.find_machine(demo=True).devices[0].requesters[0].address].link
    assert link is not None
    assert (link.speed, link.width) == ("2.5 GT/s PCIe", 1)
    owner = {dict(one)["function"]: dict(one) for one in found["ptttool_function_info"]}
    assert (owner["0000:01:00.0"]["device"], owner["0000:01:00.0"]["role"]) == ("hisi_ptt0_0", "requester")
    assert set(owner["0000:01:00.0"]["names"].split(",")) == {"nvme0", "nvme0n1"}
    checks = found["ptttool_doctor_check_status"]
    assert {dict(one)["check"] for one in checks} == set(CHECKS.names())
    assert sum(checks.values()) == len(CHECKS.names())
    assert checks[labels(check="perf", status="unknown")] == 1
    assert found["ptttool_doctor_verdict"] == {labels(verdict="works"): 0, labels(verdict="fails"): 0, labels(verdict="unknown"): 1}


def test_of_a_machine_without_a_device(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "sys" / "devices" / "system" / "cpu").mkdir(parents=True)
    assert main(["metrics", "--sysfs", str(tmp_path), "--no-doctor"]) == 0
    found = parsed(capsys.readouterr().out)
    assert (found["ptttool_devices"], found["ptttool_pci_functions"]) == ({labels(): 0}, {labels(): 0})
    assert "ptttool_tune_attribute_value" not in found
    assert "ptttool_doctor_verdict" not in found


def test_of_an_old_kernel() -> None:
    """It does not say whose a function is: the device is empty, and no number of filters is given."""
    found = parsed(machine_metrics(machines.MACHINES / OLD, doctor=False).text())
    assert {dict(one)["device"] for one in found["ptttool_function_info"]} == {""}
    assert "ptttool_filters" not in found


def test_what_cannot_be_read_has_no_value(mount_ptt_machine: Callable[[FakeMachine], FakeMachine]) -> None:
    machine = kunpeng("6.12")
    machine["hisi_ptt0_2"].hang(errno.ETIMEDOUT)
    mount_ptt_machine(machine)
    found = parsed(machine_metrics(doctor=False).text())
    silent = {one: value for one, value in found["ptttool_tune_attribute_readable"].items() if ("device", "hisi_ptt0_2") in one}
    assert set(silent.values()) == {0}
    assert len(silent) == 5
    assert {dict(one)["device"] for one in found["ptttool_tune_attribute_value"]} == {"hisi_ptt0_0", "hisi_ptt2_0"}
    with machine.as_user():
        found = parsed(machine_metrics(doctor=False).text())
    assert set(found["ptttool_tune_attribute_readable"].values()) == {0}
    assert "ptttool_tune_attribute_value" not in found


NASTY = 'a"b\\c\n{d="e"} 1\x1b[31m\u202e'


def test_labels_are_escaped_and_cleaned() -> None:
    samples = Samples()
    samples.add(METRICS["ptttool_device_info"], 1, device=NASTY, pci="x" * 3000, numa_node="\udc80")
    ((only, value),) = parsed(text_of(samples))["ptttool_device_info"].items()
    given = dict(only)
    assert (given["device"], value) == ('a"b\\c\\x0a{d="e"} 1\\x1b[31m\\u202e', 1)
    assert len(given["pci"]) == 1001
    assert given["numa_node"] == "\\udc80"


def test_a_machine_with_many_functions_has_few_series() -> None:
    machine = FakeMachine("6.12")
    ptt = machine.add_ptt("hisi_ptt0_0", "0000:00:08.0")
    port = ptt.add_root_port("0000:00:10.0")
    for number in range(1, 76):
        for function in range(8):
            port.add_nic(f"{number:02x}:00.{function}", f"eth{number}n{function}")
    samples = filled(add_machine, machine.read())
    found = parsed(text_of(samples))
    assert len(found["ptttool_function_info"]) == MOST_FUNCTIONS
    assert found["ptttool_left_out"] == {
        labels(what="devices"): 0,
        labels(what="tune_attributes"): 0,
        labels(what="functions"): 601 - MOST_FUNCTIONS,
    }


def test_a_machine_with_many_devices_has_few_series() -> None:
    machine = FakeMachine("6.12")
    for number in range(70):
        machine.add_ptt(f"hisi_ptt{number}_0", f"{number:04x}:00:08.0", tune={f"knob{one}": 1 for one in range(40)})
    found = parsed(text_of(filled(add_machine, machine.read())))
    assert len(found["ptttool_device_info"]) == MOST_DEVICES
    assert len(found["ptttool_tune_attribute_readable"]) == MOST_DEVICES * MOST_ATTRIBUTES
    assert found["ptttool_left_out"][labels(what="devices")] == 6
    assert found["ptttool_left_out"][labels(what="tune_attributes")] == MOST_DEVICES * (40 - MOST_ATTRIBUTES)


def test_a_series_is_there_once(both: str) -> None:
    parsed(recording_metrics([both, both]).text())
    samples = Samples()
    for name in ("a\n", "a\\x0a"):
        samples.add(METRICS["ptttool_recording_readable"], 1, recording=name)
    assert len(parsed(text_of(samples))["ptttool_recording_readable"]) == 1


def test_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTTTOOL_STATE_DIR", str(tmp_path / "state"))
    tree = machines.copy_of(NEW, tmp_path)
    found = parsed(machine_metrics(tree, doctor=False).text())
    assert (found["ptttool_journal_readable"], found["ptttool_journal_cut_off_changes"]) == ({labels(): 1}, {labels(): 0})
    code = (
        "import os, ptttool; machine = ptttool.find_machine({!r});"
        "ptttool.set_tune_attributes(machine.devices[0], ['qos_tx_p=2', 'qos_tx_np=2'],"
        "on_change=lambda change: os.abort() if change.state == 'written' else None)"
    )
    assert subprocess.run([sys.executable, "-c", code.format(str(tree))]).returncode == -6
    found = parsed(machine_metrics(tree, doctor=False).text())
    assert found["ptttool_journal_cut_off_changes"] == {labels(): 1}
    assert found["ptttool_journal_half_done_attributes"][labels()] >= 1
    found = parsed(machine_metrics(tree).text())
    assert found["ptttool_doctor_check_status"][labels(check="journal", status="warning")] == 1


@pytest.mark.parametrize("openmetrics", [False, True])
def test_of_a_recording(both: str, openmetrics: bool) -> None:
    found = parsed(recording_metrics(both).text(openmetrics=openmetrics), openmetrics=openmetrics)
    with open_recording(both) as recording:
        traffic, latency, loss = (recording.analyze(name) for name in ("traffic", "latency", "loss"))
    name = labels(recording=both)
    assert sum(found["ptttool_recording_tlps"].values()) + found["ptttool_recording_undecodable_records"][name] == traffic.total.tlps
    assert sum(found["ptttool_recording_carried_bytes"].values()) == traffic.total.bytes
    assert sum(found["ptttool_recording_requested_bytes"].values()) == traffic.total.requested_bytes
    inbound = sum(value for one, value in found["ptttool_recording_tlps"].items() if ("direction", "inbound") in one)
    assert inbound == traffic.directions["inbound"].tlps
    times = found["ptttool_recording_latency_ticks"]
    assert times[name | labels(quantile="0.5")] == latency.ticks.p50
    assert times[name | labels(quantile="0.999")] == latency.ticks.p999
    assert found["ptttool_recording_latency_ticks_count"][name] == latency.ticks.n
    assert found["ptttool_recording_latency_ticks_sum"][name] == pytest.approx(latency.ticks.mean * latency.ticks.n)
    assert found["ptttool_recording_latency_max_ticks"][name] == latency.ticks.max
    assert sum(found["ptttool_recording_loss_signs"].values()) == len(loss.signs)
    assert (found["ptttool_recording_readable"][name], found["ptttool_recording_size_bytes"][name]) == (1, Path(both).stat().st_size)


def test_a_damaged_recording_and_one_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = captures.path_of("6.12/x-switch-port14", tmp_path)
    cut, missing, output = tmp_path / "cut.data", tmp_path / "missing.data", tmp_path / "out.prom"
    cut.write_bytes(good.read_bytes()[:-100])
    assert main(["metrics", str(good), str(cut), str(missing), "-o", str(output)]) == 6
    found = parsed(output.read_text(encoding="utf-8"))
    readable = {dict(one)["recording"]: value for one, value in found["ptttool_recording_readable"].items()}
    assert readable == {str(good): 1, str(cut): 0, str(missing): 0}
    assert {dict(one)["recording"] for one in found["ptttool_recording_tlps"]} == {str(good), str(cut)}
    assert str(missing) in capsys.readouterr().err


def test_too_many_recordings() -> None:
    with pytest.raises(UsageError) as caught:
        recording_metrics([f"x{number}" for number in range(MOST_RECORDINGS + 1)])
    assert caught.value.code == "too-many-recordings"


def test_arguments_that_exclude_each_other(both: str) -> None:
    assert main(["metrics", "--demo", both]) == 2
    assert main(["metrics", "--demo", "--sysfs", "x"]) == 2


def test_the_file_is_whole_readable_and_replaced(tmp_path: Path) -> None:
    output = tmp_path / "ptttool.prom"
    mask = os.umask(0o077)
    try:
        for _ in range(2):
            assert main(["metrics", "--demo", "--no-doctor", "-o", str(output)]) == 0
    finally:
        os.umask(mask)
    assert stat.S_IMODE(output.stat().st_mode) == 0o644
    assert parsed(output.read_text(encoding="utf-8"))["ptttool_devices"] == {labels(): 3}
    assert [path.name for path in tmp_path.iterdir()] == ["ptttool.prom"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["os.fsync", "os.rename", "os.fchmod"])
def test_killed_while_it_writes(moment: str, tmp_path: Path) -> None:
    """The older file stays, and what is left has no name that node_exporter would read."""
    output = tmp_path / "ptttool.prom"
    output.write_text("old 1\n")
    code = (
        "import os, sys; from ptttool.api.metrics import machine_metrics; found = machine_metrics(demo=True, doctor=False);"
        f"{moment} = lambda *_, **__: os.kill(os.getpid(), 9); found.write(sys.argv[1])"
    )
    assert subprocess.run([sys.executable, "-c", code, str(output)]).returncode == -9
    assert output.read_text() == "old 1\n"
    assert [path.name for path in tmp_path.glob("*.prom")] == ["ptttool.prom"]
    machine_metrics(demo=True, doctor=False).write(output)
    assert [path.name for path in tmp_path.iterdir()] == ["ptttool.prom"], "what was left is swept away"


def test_a_full_disk(tmp_path: Path) -> None:
    assert main(["metrics", "--demo", "--no-doctor", "-o", "/dev/full"]) == 6
    assert main(["metrics", "--demo", "--no-doctor", "-o", str(tmp_path / "no" / "x.prom")]) == 6


def all_metrics(both: str) -> Iterator[Metrics]:
    yield machine_metrics(demo=True)
    yield recording_metrics(both)


def test_every_metric_is_emitted(both: str) -> None:
    assert {metric.name for found in all_metrics(both) for metric in found.samples.families} == set(METRICS)


def test_names_follow_the_conventions() -> None:
    for name, metric in METRICS.items():
        assert name.startswith("ptttool_")
        assert not name.endswith(("_total", "_count", "_sum", "_bucket"))
        assert metric.help.endswith(".") or metric.help.endswith(")")
        assert not metric.unit or name.endswith(f"_{metric.unit}")


def test_verdicts() -> None:
    for works, word in ((True, "works"), (False, "fails"), (None, "unknown")):
        found = parsed(text_of(filled(add_doctor, {}, [], works)))["ptttool_doctor_verdict"]
        assert {dict(one)["verdict"] for one, value in found.items() if value} == {word}


def test_openmetrics(both: str) -> None:
    for found in all_metrics(both):
        text = found.text(openmetrics=True)
        assert text.endswith("# EOF\n")
        in_openmetrics, in_prometheus = parsed(text, openmetrics=True), parsed(found.text())
        assert in_openmetrics == in_prometheus


def test_promtool_has_nothing_to_say(both: str) -> None:
    for found in all_metrics(both):
        done = subprocess.run([promtool(), "check", "metrics"], input=found.text(), capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_machine_read_twice_gives_the_same() -> None:
    source = machines.in_memory(*machines.contents(NEW))
    first, second = (text_of(filled(add_machine, read_machine(source))) for _ in range(2))
    assert first == second


def test_values_by_name(both: str) -> None:
    found = machine_metrics(demo=True, doctor=False).values
    assert found["ptttool_devices"] == {(): 3}
    document: dict[str, Any] = json.loads(json.dumps({name: len(samples) for name, samples in found.items()}))
    assert document["ptttool_device_info"] == 3
