"""The real perf, under umockdev, reads every event string as ptttool does: those it builds, and odd ones."""

from __future__ import annotations

import itertools
import re
import subprocess
from pathlib import Path

import pytest

from ptttool.capture.event.choose import EventOptions, choose
from ptttool.capture.event.parse import parse_event
from ptttool.capture.event.terms import Completions, Direction, Format, Pattern, parse_types
from ptttool.diagnostics import Severity
from ptttool.errors import PtttoolError, UsageError
from ptttool.machine.model import Machine
from ptttool.testing import kunpeng
from tests.support.machines import NEW, OLD, umockdev

# A PMU type that no kernel gives, so that the kernel that runs the tests cannot know it by chance.
STRANGE_TYPE = 0x7FFF_0000


@pytest.fixture(scope="module", params=[NEW, OLD])
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def words(machine: str, folder: Path) -> list[str]:
    run = umockdev(machine, folder)
    dump = folder / f"{machine}.umockdev"
    text, count = re.subn(
        r"(P: \S*/hisi_ptt\S*\n(?:[^\n]+\n)*?A: type=)(\d+)", lambda found: f"{found[1]}{STRANGE_TYPE + int(found[2])}", dump.read_text()
    )
    assert count == 3
    dump.write_text(text)
    return run


def configs_in(said: str) -> list[int]:
    """The configs that perf opens events with, each but once in a row (perf may open an event several times)."""
    kinds = {int(kind) for kind in re.findall(r"^  type +(\d+)\b", said, re.M)}
    assert kinds <= {STRANGE_TYPE + kind for kind in range(9, 14)}
    return [config for config, _ in itertools.groupby(int(text, 16) for text in re.findall(r"^  config +0x([0-9a-f]+)\b", said, re.M))]


def perf_reads(run: list[str], events: list[str]) -> list[int]:
    """The config that perf makes of each event; no two events in a row may have the same."""
    configs: list[int] = []
    # Where opening fails so that perf gives up, another perf takes the rest.
    while len(configs) < len(events):
        given = [word for event in events[len(configs) :] for word in ("-e", event)]
        done = subprocess.run([*run, "perf", "stat", "-vv", "-C", "0", *given, "--", "true"], capture_output=True, text=True, timeout=60)
        shown = configs_in(done.stderr)
        assert shown, done.stderr
        configs += shown
    return configs


def perf_on_each(run: list[str], events: list[str]) -> list[tuple[int, str]]:
    """What a perf of its own makes of each event: exit code, and what it says. One mock machine for all: making it is what takes time."""
    script = 'for event; do perf stat -vv -C 0 -e "$event" -- true 2>&1; echo "left with $?"; done'
    done = subprocess.run([*run, "sh", "-c", script, "sh", *events], capture_output=True, text=True, timeout=120)
    parts = re.findall(r"(.*?)^left with (\d+)$", done.stdout, re.M | re.S)
    assert len(parts) == len(events), done.stdout
    return [(int(code), said) for said, code in parts]


def load(name: str) -> Machine:
    """The fake machine: the perf that reads its events sees the recorded one."""
    return kunpeng(name.removeprefix("kunpeng-")).read()


FILTERS = (
    {"root_ports": ("00:14.0",)},
    {"root_ports": ("nvme1", "0000:00:15.0")},
    {"requester": "08:00.1"},
)
TYPES = ("p", "np", "cpl", "p,np", "p,cpl", "np,cpl", "p,np,cpl")


def built(machine: Machine) -> dict[str, int]:
    """Every event that the options can give on hisi_ptt0_2, and its config."""
    found: dict[str, int] = {}
    tried = 0
    for where, types, direction, completions, layout, pattern in itertools.product(
        FILTERS, TYPES, Direction, (None, *Completions), Format, (None, Pattern.LEGACY)
    ):
        tried += 1
        try:
            options = EventOptions(
                **where,  # type: ignore[arg-type]
                types=parse_types(types),
                direction=direction,
                completions=completions,
                format=layout,
                pattern=pattern,
                device="hisi_ptt0_2",
                force=True,
            )
            event = choose(options, machine, machine.devices[1]).built
        except UsageError:
            continue
        found[event.event] = event.config
    assert tried == 756
    return found


def test_perf_reads_every_event_that_is_built(machine: str, tmp_path: Path) -> None:
    events = built(load(machine))
    # 4DW: 7 types in each of direction 0, 1, 2; 4 with completions in 3. 8DW: 7 in 1 and 2, 4 in 3. Times three filters.
    assert len(events) == 3 * (7 + 7 + 7 + 4 + 7 + 7 + 4)
    assert perf_reads(words(machine, tmp_path), list(events)) == list(events.values())


ODD = [
    "hisi_ptt0_2/filter=524544,type=7/",
    "hisi_ptt0_2/filter=010,type=7/",
    " hisi_ptt0_2/ filter = 0x80100 , type=7/ ",
    "hisi_ptt0_2/config=0x107280100/",
    "hisi_ptt0_2/config=0x100000000,type=1,filter=0x80100/",
    "hisi_ptt0_2/filter=0x80100,filter=0x00600,type=7/",
    "hisi_ptt0_2/type=1,type=2,filter=0x80100/",
    "hisi_ptt0_2/filter=0x80100,type=7,name=mine/",
    "hisi_ptt0_2/filter=0x80100,type=7,config1=4/",
    "hisi_ptt0_2/filter=0x80100,type=7,period=4/u",
    "hisi_ptt0_2/config=0xffffffffffffffff/",
]


def test_perf_reads_odd_events_alike(machine: str, tmp_path: Path) -> None:
    terms = load(machine).devices[1].format
    for event, (_, said) in zip(ODD, perf_on_each(words(machine, tmp_path), ODD), strict=True):
        assert configs_in(said) == [parse_event(event, terms).config], event


REFUSED = [
    "hisi_ptt0_2/filter=0X80100,type=7/",
    "hisi_ptt0_2/filter=abc,type=7/",
    "hisi_ptt0_2/filter=0x80100,,type=7/",
    "hisi_ptt0_2/filter=0x80100,type=7,/",
    "hisi_ptt0_2/filter=0x80100,type=7",
    "hisi_ptt0_2/filter=0x80100,type=7/Z",
    "hisi_ptt0_2/filter=0x100000,type=7/",
    "hisi_ptt0_2/filter=0x80100,tpye=7/",
    "hisi_ptt0_2/filter=0x80100,type=7,pattern=1/",
    "hisi_ptt0_2/config=0x1ffffffffffffffffff/",
]


def test_what_perf_refuses_is_refused_or_called_so(machine: str, tmp_path: Path) -> None:
    terms = load(machine).devices[1].format
    for event, (code, said) in zip(REFUSED, perf_on_each(words(machine, tmp_path), REFUSED), strict=True):
        assert (code, configs_in(said)) == (129, []), event
        try:
            parsed = parse_event(event, terms)
        except PtttoolError:
            continue
        assert Severity.ERROR in {one.severity for one in parsed.diagnostics}, event
