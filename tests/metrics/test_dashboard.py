"""The dashboard: every query asks for metrics and labels that there are, in valid PromQL."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from ptttool.cli.main import main
from ptttool.metrics.catalogue import DASHBOARD, METRICS
from tests import ROOT
from tests.metrics.test_metrics import all_metrics
from tests.metrics.test_metrics import both as both
from tests.support.promtool import promtool


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return loaded


def queries() -> Iterator[str]:
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def test_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metrics", "--dashboard"]) == 0
    assert json.loads(capsys.readouterr().out) == dashboard()


def test_queries_ask_for_what_is_emitted(both: str) -> None:
    emitted: dict[str, set[str]] = {}
    for found in all_metrics(both):
        for family in text_string_to_metric_families(found.text()):
            emitted[family.name] = {label for sample in family.samples for label in sample.labels}
    asked = list(queries())
    assert len(asked) > 15
    for query in asked:
        names = re.findall(r"\bptttool_\w+", query)
        assert names, query
        for name, matchers in re.findall(r"\b(ptttool_\w+)\{([^}]*)\}", query):
            matched = {text.split("=")[0].rstrip("!~") for text in re.split(r",(?=\w)", matchers)}
            assert matched <= emitted[name] | {"instance", "job"}, query
        for listed in re.findall(r"(?:by|on|group_left) \(([^)]*)\)", query):
            known = set().union(*(emitted[name] for name in names)) | {"instance", "job"}
            assert set(re.split(r", *", listed)) <= known, query
    used = {name for query in asked for name in re.findall(r"\bptttool_\w+", query)}
    assert used <= set(METRICS)


def test_variables_are_declared() -> None:
    declared = {one["name"] for one in dashboard()["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)\}?", json.dumps(dashboard()))) - {"__all"} <= declared


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells


def alerts() -> str:
    found = re.search(r"(?s)```yaml\n(.*?)```", (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def test_alerts_ask_for_what_is_emitted() -> None:
    rules = yaml.safe_load(alerts())["groups"][0]["rules"]
    asked = {name for rule in rules for name in re.findall(r"\bptttool_\w+", rule["expr"])}
    assert asked
    assert asked <= set(METRICS)


def test_alerts_are_valid(tmp_path: Path) -> None:
    path = tmp_path / "rules.yml"
    path.write_text(alerts())
    done = subprocess.run([promtool(), "check", "rules", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_queries_are_valid(tmp_path: Path) -> None:
    rules = [{"record": f"query{number}", "expr": query.replace("$instance", ".*")} for number, query in enumerate(queries())]
    path = tmp_path / "rules.json"  # YAML, too
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = subprocess.run([promtool(), "check", "rules", str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
