"""Show what makes a profile permanent, for ``ptttool tune export``."""

from __future__ import annotations

from ptttool.cli.terminal.talk import print_line
from ptttool.tune.persist.install import InstallPlan, UninstallPlan
from ptttool.tune.persist.rooted import Rooted
from ptttool.wording import clean


def print_plan(plan: InstallPlan) -> None:
    """Print what installing writes, whole."""
    files = Rooted(plan.root)
    for word, group in (("new", plan.write), ("replaced", plan.replace), ("there already", plan.same)):
        for file in group:
            print_line(clean(f"{files.shown(file.path)} ({word}){f': a link to {file.text}' if file.is_link else ':'}"))
            if not file.is_link and word != "there already":
                for line in file.text.splitlines():
                    print_line(clean(f"    {line}").rstrip())
    for path in plan.remove:
        print_line(clean(f"{files.shown(path)} (removed: of the profile before)"))


def print_removal(plan: UninstallPlan) -> None:
    """Print what uninstalling removes."""
    files = Rooted(plan.root)
    for word, paths in (("removed", plan.remove), ("changed since: stays", plan.changed), ("gone already", plan.gone)):
        for path in paths:
            print_line(clean(f"{files.shown(path)} ({word})"))
