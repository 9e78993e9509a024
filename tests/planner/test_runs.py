"""From what analyses need to runs of the device."""

from __future__ import annotations

import itertools

import pytest

from ptttool.analyses.contract import ANALYSES
from ptttool.analyses.needs import LackCode, Need
from ptttool.capture.event.build import TraceRequest, build
from ptttool.capture.event.terms import Completions, Direction, Format, TlpType
from ptttool.errors import UsageError
from ptttool.pci import PciAddress
from ptttool.planner.runs import Run, Wanted, lacking, overridden, parse_purposes, runs_for, split, wanted_for

PURPOSES = [name for name in ANALYSES.names() if name != "elements"]
PORT = PciAddress.parse("0000:00:10.0")


def names(*purposes: str) -> list[str]:
    return [run.name for run in runs_for(wanted_for(purposes))]


@pytest.mark.parametrize("purposes", [*((name,) for name in PURPOSES), *itertools.combinations(PURPOSES, 2), tuple(PURPOSES)])
def test_every_analysis_has_a_plan_that_brings_what_it_needs(purposes: tuple[str, ...]) -> None:
    """The events can be built without force, and nothing that an analysis needs is missing from all recordings."""
    wanted = wanted_for(purposes)
    runs = runs_for(wanted)
    assert runs
    assert lacking(wanted, runs) == []
    assert len(set(runs)) == len({run.name for run in runs}) == len(runs)
    for run in runs:
        request = TraceRequest(
            device="hisi_ptt0_0",
            root_ports=(PORT,),
            types=run.types,
            direction=run.direction,
            completions=run.completions,
            format=run.format,
        )
        built = build(request)
        assert built.flow == run.flow
        assert run.direction is not Direction.OUTBOUND or len(run.types) == 1


@pytest.mark.parametrize(
    ("purposes", "runs"),
    [
        ("traffic", ["inbound", "outbound-cpl"]),
        ("payload", ["inbound", "outbound-cpl"]),
        ("latency", ["both-np-cpl-b"]),
        ("outstanding", ["both-np-cpl-b"]),
        ("mmio", ["both-np-cpl-a"]),
        ("attributes", ["inbound-8dw"]),
        ("io", ["inbound"]),
        ("errors", ["inbound-8dw", "outbound-cpl", "inbound-cpl"]),
        ("bandwidth", ["inbound", "outbound-p", "outbound-np", "outbound-cpl"]),
        ("loss", ["inbound"]),
        ("latency,mmio", ["both-np-cpl-b", "both-np-cpl-a"]),
        ("latency,traffic", ["both-np-cpl-b", "inbound"]),
        ("latency,io", ["both-np-cpl-b", "inbound"]),
        ("io,attributes", ["inbound-8dw"]),
    ],
)
def test_runs(purposes: str, runs: list[str]) -> None:
    assert names(*parse_purposes(purposes)) == runs


def test_names() -> None:
    assert parse_purposes(" latency,io ,latency") == ("latency", "io")
    for text, code in (("latency,speed", "unknown-analysis"), ("", "unknown-analysis"), ("elements", "no-tlps")):
        with pytest.raises(UsageError) as caught:
            parse_purposes(text)
        assert caught.value.code == code


def test_whole_headers_of_all_inbound_completions_take_two_runs() -> None:
    """8DW holds CPL A or the others."""
    need = Need("answers", "", inbound=("P", "CPL A", "CPL B"), format=Format.DW8)
    assert [run.name for run in runs_for([Wanted("x", need)])] == ["inbound-p-cpl-b-8dw", "inbound-cpl-a-8dw"]


def test_what_the_user_asks_for_replaces_the_choice() -> None:
    runs = runs_for(wanted_for(["payload"]))
    assert [run.name for run in overridden(runs)] == ["inbound", "outbound-cpl"]
    assert [run.name for run in overridden(runs, format=Format.DW8)] == ["inbound-8dw", "outbound-cpl-8dw"]
    assert [run.name for run in overridden(runs, direction=Direction.INBOUND)] == ["inbound", "inbound-cpl"]
    assert [run.name for run in overridden(runs, types=(TlpType.POSTED,))] == ["inbound-p", "outbound-p"]
    both = runs_for(wanted_for(["latency"]))
    assert [run.name for run in overridden(both, direction=Direction.OUTBOUND)] == ["outbound-np", "outbound-cpl"]
    with pytest.raises(UsageError) as caught:
        overridden(both, format=Format.DW8)
    assert caught.value.code == "8dw-both"


def test_what_is_lost_by_that_is_known() -> None:
    wanted = wanted_for(["latency"])
    runs = overridden(runs_for(wanted), direction=Direction.INBOUND)
    ((one, lack),) = lacking(wanted, runs)
    assert (one.purpose, lack.code, lack.is_vital) == ("latency", LackCode.NOT_TRACED, True)


def test_either_need_is_enough() -> None:
    runs = overridden(runs_for(wanted_for(["latency"])), completions=Completions.A)
    assert lacking(wanted_for(["latency"], runs), runs) == []


def test_a_requester_hides_completions_possibly() -> None:
    wanted = wanted_for(["outstanding"])
    ((_, lack),) = lacking(wanted, runs_for(wanted), PciAddress.parse("0000:01:00.0").routing_id)
    assert lack.code is LackCode.FILTERED


def test_outbound_is_one_run_for_each_type() -> None:
    assert [run.name for run in split(Run(direction=Direction.OUTBOUND))] == ["outbound-p", "outbound-np", "outbound-cpl"]
    assert split(Run(direction=Direction.BOTH)) == [Run(direction=Direction.BOTH)]
