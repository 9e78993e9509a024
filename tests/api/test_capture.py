"""Events and recordings from Python: the examples of the docstrings, notebooks, errors as data."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import pytest

import ptttool
from ptttool.api import capture as api
from ptttool.api.machine import find_machine
from ptttool.capture.sidecar import load
from ptttool.diagnostics import Diagnostic
from ptttool.errors import UsageError
from ptttool.machine.model import Machine


def examples() -> list[doctest.DocTest]:
    modules = {api, *(sys.modules[getattr(api, name).__module__] for name in api.__all__ if name[0].islower())}
    found = (test for module in modules for test in doctest.DocTestFinder().find(module, module.__name__))
    return sorted((test for test in found if test.examples and test.name.rpartition(".")[2] in api.__all__), key=lambda test: test.name)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name.rpartition(".")[2])
def test_examples(example: doctest.DocTest) -> None:
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.fixture(scope="module")
def machine() -> Machine:
    return find_machine(demo=True)


def test_every_function_has_an_example() -> None:
    functions = {name for name in api.__all__ if name[0].islower()}
    assert functions == {example.name.rpartition(".")[2] for example in examples()}


def test_replay(machine: Machine, tmp_path: Path) -> None:
    output = tmp_path / "x.data"
    output.write_bytes(b"the last one")
    chosen = api.build_event(machine, root_ports=["nvme0"], format="8dw")
    plan = api.plan_recording(chosen, output=output, command=["fio"], force=True)
    assert plan.perf_command[:4] == ["perf", "record", "-e", str(chosen.built)]
    reported: list[Diagnostic] = []
    recorded = api.record(plan, report=reported.append)
    assert tuple(reported) == recorded.diagnostics
    assert [one.code for one in reported] == ["replay", "replay-command", "command-not-run"]
    assert (recorded.path, recorded.size, recorded.old) == (output, output.stat().st_size, Path(f"{output}.old"))
    kept = load(output)
    assert kept is not None
    assert kept.replay_of == recorded.replay_of


def test_explain_a_recording(machine: Machine, tmp_path: Path) -> None:
    chosen = api.build_event(machine, root_ports=["nvme0"], format="8dw")
    recorded = api.record(api.plan_recording(chosen, output=tmp_path / "x"))
    subject = api.explain_event(recorded.path)
    assert (subject.kind, subject.explanation.config, subject.explanation.device) == ("recording", chosen.built.config, "hisi_ptt0_0")
    assert subject.explanation.flow == chosen.built.flow
    assert api.explain_event(chosen.built.config, machine).explanation.fits == ("hisi_ptt0_0",)


def test_notebook(machine: Machine) -> None:
    built = api.build_event(machine, root_ports=["nvme0"], format="8dw").built
    assert built.event in built._repr_html_()
    assert "CPL B" in api.explain_event(str(built), machine).explanation._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"root_ports": ["nvme0"], "direction": "up"}, "usage"),
        ({"root_ports": ["nvme0"], "types": []}, "usage"),
        ({"root_ports": ["nvme0"], "requester": "nvme0"}, "two-filters"),
        ({}, "no-filter"),
    ],
)
def test_wrong_arguments(machine: Machine, arguments: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        api.build_event(machine, **arguments)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_an_event_without_a_machine_cannot_be_recorded() -> None:
    chosen = api.build_event(device="hisi_ptt0_0", root_ports=["00:10.0"])
    with pytest.raises(UsageError) as caught:
        api.plan_recording(chosen)
    assert caught.value.code == "no-machine"


def test_a_text_alone_is_a_list_of_one() -> None:
    machine = ptttool.find_machine(demo=True)
    chosen = ptttool.build_event(machine, root_ports="nvme0", types="p")
    assert chosen.built == ptttool.build_event(machine, root_ports=["nvme0"], types=["p"]).built
    assert ptttool.tune_attributes(machine.devices[0], "qos_tx_p") == {"qos_tx_p": 1}
    with pytest.raises(ptttool.UsageError) as caught:
        ptttool.plan_recording(chosen, command="sleep 1")
    assert caught.value.code == "command-not-a-list"
