"""What the configuration of the project's tools promises."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

import ptttool
from tests import ROOT
from tests.interpreters import VERSIONS

yaml = pytest.importorskip("yaml")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def parsed(path: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))
    return loaded


def test_the_workflow_covers_what_the_project_claims() -> None:
    jobs = parsed(".github/workflows/ci.yml")["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert tuple(matrix["python"]) == VERSIONS
    assert {"ubuntu-24.04", "ubuntu-24.04-arm"} == set(matrix["runner"])
    claimed = {text.rpartition(" ")[2] for text in PROJECT["project"]["classifiers"] if re.fullmatch(r".* :: 3\.\d+", text)}
    assert claimed == set(VERSIONS)
    assert {(each["runner"], each["dependencies"]) for each in matrix["include"]} == {(runner, "lowest") for runner in matrix["runner"]}
    for job in jobs.values():
        assert job["runs-on"]
        assert all(("run" in step) != ("uses" in step) for step in job["steps"])


def test_the_workflow_runs_what_make_has() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"run: make ([a-z-]+)", text))
    assert used == {"lint", "docs", "coverage", "fuzz", "crash", "dist", "test-packages"}
    assert used <= targets


def test_the_workflow_installs_what_the_makefile_names() -> None:
    """One list of packages: a job that runs the tests installs those of the Makefile, and none names packages itself."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = dict(re.findall(r"(?m)^([a-z-]+):(.*)$", makefile))
    installing = {name for name, needs in targets.items() if "test-system" in needs.split()} | {"test-packages"}
    assert {"test", "coverage", "crash", "test-packages"} <= installing
    for name, job in parsed(".github/workflows/ci.yml")["jobs"].items():
        text = "\n".join(step.get("run", "") for step in job["steps"])
        assert not re.search(r"install-packages|apt(-get)? ", text), name
        if re.search(r"\bpytest\b", text):
            assert any(re.search(rf"\bmake {each}\b", text) for each in installing), name


def test_hooks_run_the_tools_of_make_lint() -> None:
    hooks = {hook["id"] for repository in parsed(".pre-commit-config.yaml")["repos"] for hook in repository["hooks"]}
    assert {"ruff", "ruff-format", "import-linter", "mypy"} <= hooks


def test_the_changelog_has_the_version_as_a_release_or_what_leads_to_it() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", text)
    assert releases == sorted(releases, key=lambda release: [int(part) for part in release.split(".")], reverse=True)
    assert ptttool.__version__ in releases or "[Unreleased]" in text
    assert releases


def test_every_dependency_has_a_floor() -> None:
    project = PROJECT["project"]
    for requirement in [*project["dependencies"], *(each for extra in project["optional-dependencies"].values() for each in extra)]:
        assert re.match(r"[\w-]+>=\d", requirement) or requirement.startswith("ptttool["), requirement
