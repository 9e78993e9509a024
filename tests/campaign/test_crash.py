"""A sample of the points of ``make crash``: every command is killed and disturbed at a few of its system calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.crash.cases import Case, all_cases
from campaign.crash.client import Job, Servers, build_shim
from campaign.crash.events import Call, Event, Kind, Mode, Point, points
from campaign.crash.run import Campaign, thinned

pytestmark = pytest.mark.slow

CASES = all_cases()
# Runs of these take half a second and more.
SLOW = ("generate", "trace")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(build_shim(tmp_path_factory.mktemp("shim")))
    yield servers
    servers.close()


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_old_or_new_never_half(servers: Servers, tmp_path: Path, case: Case) -> None:
    wanted = 1 if case.name.startswith(SLOW) else 2
    report = Campaign(servers, tmp_path, 1).run(case, most=wanted)
    assert report.total == wanted
    assert not report.wrong, "\n".join(f"{point}: {'; '.join(reasons)}" for point, reasons in report.wrong)


def test_a_look_at_the_time_that_fails_is_an_error(servers: Servers, tmp_path: Path) -> None:
    """A read that fails once is not a recording without times: the report would lack results, and say nothing."""
    case = next(case for case in CASES if case.name == "report")
    case.build(tmp_path)
    looked = [call for call in servers.mine().run(case.job(tmp_path, case.arguments)).calls if call.path.endswith("in.data")]
    first = next(at for at, call in enumerate(looked) if call.name.startswith("preadv"))
    case.reset(tmp_path)
    ended = servers.mine().run(case.job(tmp_path, case.arguments, Point(Event.EIO, looked[first - 1])))
    assert (ended.status, case.outputs(tmp_path)) == (6, {})


def test_points() -> None:
    """Each event at each call where it can happen, and a choice that is the same each time."""
    calls = [Call(1, "open", Kind.CREATE, 0, "/a"), Call(2, "write", Kind.WRITE, 1, "/a"), Call(3, "close", Kind.CLOSE, 0, "/a")]
    found = list(points(calls))
    assert {point.call.number for point in found if point.event is Event.KILL} == {1, 2, 3}
    assert [point.call.number for point in found if point.event is Event.ENOSPC] == [1, 2]
    assert not [point for point in found if point.event is Event.SHORT]
    assert thinned(found, 3) == thinned(found, 3)
    assert len(thinned(found, 3)) == 3
    assert thinned(found, None) == found


def test_the_library_sees_the_calls(servers: Servers, tmp_path: Path) -> None:
    """A counted run changes nothing; a killed one ends at the call that was asked for, and leaves no process."""
    (tmp_path / "work").mkdir()
    arguments = ["generate", "--size", "64K", "-o", "work/new.data"]
    counted = servers.mine().run(Job(tmp_path, arguments))
    assert counted.status == 0
    assert {"open", "write", "fsync", "close"} <= {call.name for call in counted.calls}
    assert [call.number for call in counted.calls] == list(range(1, len(counted.calls) + 1))
    (tmp_path / "work" / "new.data").unlink()
    first = next(call for call in counted.calls if call.name == "write")
    killed = servers.mine().run(Job(tmp_path, arguments, Mode.KILL, first.number))
    assert killed.status == -9
    assert [call.name for call in killed.calls] == ["write"]
    assert not killed.late
    assert not (tmp_path / "work" / "new.data").exists()
    assert len(list((tmp_path / "work").iterdir())) == 1
