"""The machine as JSON: nothing is lost, and what is no machine is said."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ptttool.documents import to_json
from ptttool.machine.details.read import with_details
from ptttool.machine.discovery import read_machine
from ptttool.machine.documents import from_json
from ptttool.machine.model import Machine
from ptttool.machine.sources.tree import TreeSource
from tests.support.machines import MACHINES, NEW, OLD


@pytest.mark.parametrize("name", [NEW, OLD])
def test_round_trip(name: str) -> None:
    machine = read_machine(TreeSource(MACHINES / name))
    assert from_json(json.loads(json.dumps(to_json(machine)))) == machine


def test_schema() -> None:
    """Keys and spelling are a contract."""
    document = to_json(read_machine(TreeSource(MACHINES / NEW)))
    assert list(document) == ["version", "origin", "kernel", "hostname", "driver", "diagnostics", "devices", "functions", "memory"]
    assert (document["version"], document["kernel"], document["hostname"]) == (1, "6.12.95+deb12-arm64", "ptt-rig")
    device = document["devices"][1]
    assert device["pci"] == "0000:00:09.0"
    assert device["cpus"] == [0, 1]
    assert device["format"]["filter"] == {"word": "config", "low": 0, "high": 19}
    assert device["root_ports"][0] == {"address": "0000:00:14.0", "value": 0x80100, "hex": "0x80100", "computed": False}
    assert device["multiselect"] == {"root_ports": True, "requesters": False}
    assert device["tune"][0] == {"name": "qos_tx_cpl", "value": 1, "problem": None}
    assert document["functions"][-4] == {
        "address": "0000:06:00.0",
        "vendor": "0x1b36",
        "device": "0x0010",
        "class": "0x010802",
        "name": "Red Hat, Inc. QEMU NVM Express Controller",
        "kernel_names": ["nvme1", "nvme1n1"],
        "driver": "nvme",
        "numa_node": None,
        "link": {"speed": "2.5 GT/s PCIe", "width": 1, "max_speed": "2.5 GT/s PCIe", "max_width": 1},
        "secondary": None,
        "subordinate": None,
        "parent": "0000:05:00.0",
        "bars": None,
        "transfers": None,
        "iommu": None,
        "physical": None,
        "msix": None,
    }
    assert document["memory"] is None


def test_details() -> None:
    source = TreeSource(MACHINES / NEW)
    document = to_json(with_details(source, read_machine(source)))
    function = document["functions"][-4]
    assert function["bars"] == [{"number": 0, "first": "0x10600000", "last": "0x10603fff", "space": "memory", "prefetchable": False}]
    assert function["transfers"] == {
        "max_payload_supported": 256,
        "max_payload": 256,
        "max_read_request": 512,
        "extended_tags": True,
        "ten_bit_tags": False,
        "read_boundary": 64,
    }


def test_empty() -> None:
    assert from_json(to_json(Machine(origin="nowhere"))) == Machine(origin="nowhere")


@pytest.mark.parametrize("damage", [None, [], "text", {}, {"version": 2}, {"version": 1}, {"version": None}])
def test_no_machine(damage: Any) -> None:
    with pytest.raises(ValueError, match="description"):
        from_json(damage)


def test_damaged_anywhere() -> None:
    """Each value in turn replaced by one of another kind is refused, and always with ValueError."""
    whole = to_json(read_machine(TreeSource(MACHINES / NEW)))
    whole["functions"] = whole["functions"][:2]
    whole["devices"] = whole["devices"][:1]

    def paths(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        return [path, *(below for key, inner in items for below in paths(inner, (*path, key)))]

    for path in paths(whole, ())[1:]:
        place: Any = whole
        for key in path:
            place = place[key]
        for wrong in (7, "text", ["x"], {"x": "y"}, True):
            # What has the same kind may pass, numbers for numbers and texts for texts; ``hex`` only repeats ``value``.
            if path[-1] == "hex" or type(wrong) is type(place) or (place is None and path[-1] not in ("pci", "link")):
                continue
            document = copy.deepcopy(whole)
            place_there: Any = document
            for key in path[:-1]:
                place_there = place_there[key]
            place_there[path[-1]] = wrong
            with pytest.raises(ValueError, match=r"description|PCI address|invalid literal"):
                from_json(document)


def test_a_missing_field_is_named() -> None:
    """In words: no name of an exception of Python."""
    document = to_json(read_machine(TreeSource(MACHINES / NEW)))
    del document["devices"]
    with pytest.raises(ValueError, match="'devices'") as caught:
        from_json(document)
    assert "Error" not in str(caught.value)
