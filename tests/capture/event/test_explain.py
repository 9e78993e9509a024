"""Events in words: every contradiction is named, and nothing else is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ptttool.capture.event.decode import Explanation, Named
from ptttool.capture.event.explain import explain, terms_for
from ptttool.capture.event.terms import DEFAULT_TERMS, Flow, encode
from ptttool.diagnostics import Diagnostic
from ptttool.documents import to_json
from ptttool.machine.model import Machine
from ptttool.pci import PciAddress
from ptttool.testing import kunpeng


@pytest.fixture(scope="module")
def machine() -> Machine:
    return kunpeng().read()


@pytest.fixture(scope="module")
def old() -> Machine:
    return kunpeng("6.1").read()


def config(filter: int = 0x80100, type: int = 1, direction: int = 0, format: int = 0) -> int:
    return encode({"filter": filter, "type": type, "direction": direction, "format": format})


# Seen with the real driver of 6.12 on hisi_ptt0_2, or said by the kernel's document: config, whether it is refused, codes.
ODD: list[tuple[int, bool, list[str]]] = [
    (config(), False, []),
    (config(type=7), False, []),
    (config(0x80500), False, []),
    (config(0x600), False, []),
    (config(0x400), False, []),  # a switch port
    (config(0x80002), True, ["odd-port-bits"]),
    (config(0x80001), True, ["no-such-port"]),
    (config(0x80101), True, ["no-such-port"]),
    (config(0x80600), True, ["odd-port-bits"]),
    (config(0x80000), False, ["empty-mask"]),
    (config(0x999), True, ["no-such-requester"]),
    (config(0x100), True, ["no-such-requester"]),
    (config(0xA0), True, ["no-such-requester"]),
    (config(0), True, ["requester-zero"]),
    (config(0xF0100), False, ["reserved-filter-bits"]),
    (config(0x70600), False, ["reserved-filter-bits"]),
    (config(0xFFFFF), True, ["odd-port-bits", "no-such-port", "reserved-filter-bits"]),
    (config(type=0), True, ["no-type"]),
    (config(type=8), True, ["reserved-type-bits"]),
    (config(type=15), True, ["reserved-type-bits"]),
    (config(type=255), True, ["reserved-type-bits"]),
    (config(direction=4), True, ["direction"]),
    (config(direction=15, format=1), True, ["direction"]),
    (config(format=2), True, ["format"]),
    (config(format=15), True, ["format"]),
    (config(direction=0, format=1), False, ["reserved-direction"]),
    (config(direction=1, format=1), False, []),
    (config(type=7, direction=1, format=1), False, ["outbound-types"]),
    (config(type=3, direction=1), False, ["outbound-types"]),
    (config(type=7, direction=2), False, ["outbound-types", "no-cpl-a"]),
    (config(type=4, direction=2), False, ["no-cpl-a"]),
    (config(type=7, direction=2, format=1), False, ["no-cpl-a"]),
    (config(type=3, direction=2, format=1), False, []),
    (config(type=4, direction=3, format=1), False, []),
    (config(type=7, direction=3, format=1), False, ["types-not-inbound"]),
    (config(type=3, direction=3, format=1), False, ["nothing-traced"]),
    (config(type=1, direction=3), False, ["no-inbound"]),
    (config(type=6, direction=3), False, ["types-not-inbound", "outbound-types"]),
    (config() | 1 << 36 | 1 << 63, False, ["unknown-bits"]),
]


@pytest.mark.parametrize(("value", "refused", "codes"), ODD, ids=lambda one: f"{one:#x}" if type(one) is int else None)
def test_contradictions(machine: Machine, value: int, refused: bool, codes: list[str]) -> None:
    event = explain(value, pmu="hisi_ptt0_2", machine=machine)
    assert [one.code for one in event.diagnostics] == codes
    assert event.refused is refused
    problems = to_json(event)["problems"]
    assert [set(one) for one in problems] == [{"severity", "code", "message", "hint", "where", "details"}] * len(codes)
    assert [one["code"] for one in problems] == codes


@pytest.mark.parametrize("value", [config(0x80000), config(format=1), config(type=3, direction=3, format=1), config(type=0)])
def test_what_traces_nothing(machine: Machine, value: int) -> None:
    assert explain(value, pmu="hisi_ptt0_2", machine=machine).flow == Flow()


def test_names(machine: Machine) -> None:
    event = explain(config(0x80500), pmu="hisi_ptt0_2", machine=machine)
    assert [named.address for named in event.named] == [PciAddress.parse("00:14.0"), PciAddress.parse("00:15.0")]
    assert "06:00.0 Red Hat, Inc. QEMU NVM Express Controller (nvme1, nvme1n1)" in event.named[0].name
    assert "07:00.0 Intel Corporation 82574L Gigabit Network Connection" in event.named[0].name
    (named,) = explain(config(0x600), pmu="hisi_ptt0_2", machine=machine).named
    assert named == Named(PciAddress.parse("06:00.0"), "Red Hat, Inc. QEMU NVM Express Controller (nvme1, nvme1n1)")
    (empty,) = explain(config(0x80010), pmu="hisi_ptt0_0", machine=machine).named
    assert empty.address == PciAddress.parse("00:12.0")
    assert empty.name == "nothing"


def test_without_a_machine() -> None:
    event = explain(0x106280005, pmu="hisi_ptt0_2")
    assert [named.name for named in event.named] == [
        "bit 0: root port 00, 08, 10 or 18 (the value does not say which)",
        "bit 2: root port 01, 09, 11 or 19 (the value does not say which)",
    ]
    assert (event.types, event.format, event.pattern) == (("np", "cpl"), "8dw", "legacy")
    assert event.flow == Flow(inbound=("NP", "CPL B"))
    assert explain(config(0x101)).named == (Named(None, "01:00.1"),)
    assert explain(1 << 36 | config()).pattern == "v1"
    assert [one.code for one in explain(2 << 36 | config()).diagnostics] == ["pattern"]


def only(explanation: Explanation) -> Diagnostic:
    """The one thing that is odd."""
    (found,) = explanation.diagnostics
    return found


def test_who_has_the_filter(machine: Machine, old: Machine) -> None:
    assert only(explain(config(0x80005), pmu="hisi_ptt0_2", machine=machine)).details == {"fits": ["hisi_ptt0_0"]}
    assert only(explain(config(0xA0), pmu="hisi_ptt0_2", machine=machine)).details == {"filter": 0x80100}
    assert only(explain(config(0x100), pmu="hisi_ptt0_2", machine=machine)).details == {"fits": ["hisi_ptt0_0"]}
    assert explain(config(0x80005), machine=machine).fits == ("hisi_ptt0_0",)
    assert explain(config(0x600), machine=machine).fits == ("hisi_ptt0_2",)
    assert only(explain(config(0x80101), machine=machine)).code == "no-device-has-it"
    unsure = explain(config(), pmu="hisi_ptt0_2", machine=old)
    assert only(unsure).code == "ports-unknown"
    assert not unsure.refused
    missing = only(explain(config(), pmu="hisi_ptt9_9", machine=machine))
    assert (missing.code, missing.details) == ("no-such-device", {"devices": ["hisi_ptt0_0", "hisi_ptt0_2", "hisi_ptt2_0"]})


def test_whose_terms(machine: Machine) -> None:
    moved = {name: replace(term, low=term.low + 8, high=term.high + 8) for name, term in DEFAULT_TERMS.items()}
    changed = replace(machine, devices=(*machine.devices[:2], replace(machine.devices[2], format=moved)))
    assert terms_for("hisi_ptt2_0", changed) == moved
    assert terms_for("hisi_ptt0_2", changed) == machine.devices[1].format
    assert terms_for(None, changed) == machine.devices[0].format
    assert set(terms_for(None, None)) == {*DEFAULT_TERMS, "pattern"}
    assert explain(config(type=4) << 8, pmu="hisi_ptt2_0", machine=changed).fields["type"] == 4
