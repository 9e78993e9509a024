"""The demo machines: three kernels, one hardware; and what each of them says of its traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ptttool.api.machine import examine_machine, find_machine
from ptttool.api.planning import plan_for
from ptttool.documents import to_json
from ptttool.errors import InputError, UsageError
from ptttool.machine.model import Machine
from ptttool.machine.sources.recorded import DEMOS, DemoSource
from ptttool.testing import kunpeng
from tests.support.machines import MACHINES, OLD, document, run

GIB = 1 << 30


def of(machine: Machine) -> tuple[Any, Any]:
    """Devices, and the functions without what the buses of another boot have otherwise."""
    body = to_json(machine)
    for function in body["functions"]:
        for name in ("bars", "transfers", "iommu"):
            function.pop(name, None)
    return body["devices"], body["functions"]


def test_the_difference_is_that_of_the_recording() -> None:
    assert of(find_machine("demo:kunpeng-6.1", tune=True)) == of(find_machine(MACHINES / OLD, tune=True))
    assert of(find_machine("demo:kunpeng-6.12")) == of(find_machine(demo=True))


def test_openeuler_is_a_mixture_of_both() -> None:
    machine = find_machine("demo:openeuler-5.10", tune=True)
    assert machine.driver is not None
    assert (machine.driver.distribution, machine.driver.features, machine.driver.commits_early) == ("openeuler", ("filter-files",), False)
    assert [(one.sysfs, one.ports_known, one.multiselect.root_ports) for one in machine.devices] == [
        (f"/sys/devices/{name}", True, True) for name in ("hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0")
    ]
    assert {term for one in machine.devices for term in one.format} == {"filter", "direction", "type", "format"}
    assert all(len(one.tune) == 5 and all(each.value is not None for each in one.tune) for one in machine.devices)
    assert [one.root_ports for one in machine.devices] == [one.root_ports for one in find_machine(demo=True).devices]
    assert of(kunpeng("openeuler-5.10").read())[0] == of(machine)[0]


LIMITS = [
    # A 2.5 GT/s x1 link full of writes makes 14.3 MB of 4DW trace a second, and inbound reads a little more.
    ("openeuler-5.10", False, 2 * GIB, "driver"),
    ("kunpeng-6.1", False, 64 << 20, "memory-unknown"),
    ("kunpeng-6.12", True, 64 << 20, None),
]


@pytest.mark.parametrize(("name", "early", "size", "chosen_by"), LIMITS)
def test_the_limits_of_each(name: str, early: bool, size: int, chosen_by: str | None) -> None:
    machine = find_machine(f"demo:{name}")
    assert machine.driver is not None
    assert machine.driver.commits_early is early
    late = []
    plan = plan_for(machine, "traffic", root_ports=["nvme0"], device="0_0", duration=1000)
    late += [one for one in plan.limits if one.code == "late-commit"]
    words = ["trace", f"--demo={name}", "--rootport", "nvme0", "--device", "0_0", "--duration", "1000", "--dry-run", "--json"]
    body = document(run(words))
    assert (plan.aux_size, body["aux_size"], body["cpu"]) == (size, size, 1)
    found = examine_machine("0_0", f"demo:{name}")
    findings = [one for answer in found.answers for one in answer.findings if one.code == "no-early-commit"]
    limits = [*(one.details for one in late), *(one["details"] for one in body["warnings"] if one["code"] == "late-commit")]
    assert [(one["aux_size"], one["chosen_by"]) for one in limits] == ([] if early else [(size, chosen_by)] * 2)
    assert [one.details["aux_size"] for one in findings] == ([] if early else [size])
    full = plan.runs[0].volume.loads[0]
    assert [one["seconds"] for one in limits] == pytest.approx([] if early else [full.aux_seconds] * 2)
    assert full.ends_after == (None if early else full.aux_seconds)
    assert f"--demo={name}" in plan.command


def test_which_cpu_where_interrupts_are_known() -> None:
    for name, interrupts in (("openeuler-5.10", "0"), ("kunpeng-6.12", None)):
        body = document(run(["trace", f"--demo={name}", "--rootport", "nvme0", "--dry-run", "--json"]))
        (chosen,) = [one for one in body["notes"] if one["code"] == "cpu-chosen"]
        assert (chosen["details"]["cpu"], chosen["details"]["interrupts"]) == (1, interrupts)
    body = document(
        run(["trace", "--demo=openeuler-5.10", "--rootport", "nvme0", "--cpu", "0", "--aux-size", "16M", "--dry-run", "--json"])
    )
    assert (body["cpu"], body["aux_size"]) == (0, 16 << 20)
    assert [one["code"] for one in body["notes"]].count("cpu-chosen") == 0
    assert [one["details"]["chosen_by"] for one in body["warnings"]] == ["asked"]


def test_unknown_names_and_damaged_differences(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        DemoSource("../machine")
    assert caught.value.code == "unknown-demo"
    assert document(run(["list", "--demo=nope", "--json"], check=2))["error"]["code"] == "unknown-demo"
    assert document(run(["list", "--demo=", "--json"], check=2))["error"]["code"] == "unknown-demo"
    for words in (["--sysfs=x", "--demo=kunpeng-6.1"], ["--demo=kunpeng-6.1", "--sysfs", "x"], ["--demo", "--demo=kunpeng-6.1"]):
        assert run(["list", *words], check=2).stdout == ""
    archive = tmp_path / "machine.tar.gz"
    archive.write_bytes((Path(str(DemoSource.__init__.__defaults__[1]))).read_bytes())  # type: ignore[index]
    (tmp_path / f"{DEMOS[1]}.json").write_text("{")
    with pytest.raises(InputError):
        DemoSource(DEMOS[1], archive)


def test_the_value_is_not_the_next_word_nor_the_commands() -> None:
    """``--demo NAME`` is the flag and a word, as it was; a command that is traced keeps its own options."""
    assert document(run(["doctor", "--demo", "0_0", "--json"], check=1))["devices"] == ["hisi_ptt0_0"]
    body = document(run(["trace", "--demo", "--rootport", "nvme0", "--dry-run", "--json", "fio", "--demo=openeuler-5.10"]))
    assert (body["aux_size"], body["command"][-2:]) == (64 << 20, ["fio", "--demo=openeuler-5.10"])
