"""The kernel is built with the driver."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptttool.doctor.contract import Finding, check, failed, not_recorded, ok, unknown
from ptttool.doctor.facts import Facts
from ptttool.doctor.fixes import install_module

_OPTION = "CONFIG_HISI_PTT"


@check("kernel-config", order=20, needed=False)
def kernel_config(facts: Facts) -> Iterator[Finding]:
    """Look for CONFIG_HISI_PTT in the kernel's configuration, and for the module's file."""
    if facts.machine.devices:
        yield ok("the kernel has the driver: its PMUs are there")
        return
    if facts.kernel_config is None:
        what = "the kernel's configuration (/proc/config.gz, /boot/config-*)"
        yield unknown("no-kernel-config", f"{what} cannot be read") if facts.live else not_recorded(what)
        return
    path, text = facts.kernel_config
    match = re.search(rf"(?m)^{_OPTION}=([ym])$", text)
    if match is None:
        yield failed(
            "not-built",
            f"the kernel {facts.machine.kernel} is built without the driver: {_OPTION} is not set in {path}",
            details={"path": path},
            hint="use a kernel with CONFIG_HISI_PTT=m: openEuler's, or Linux 6.1 or later for arm64",
        )
    elif match[1] == "m" and facts.module_file is False:
        yield failed(
            "module-missing",
            f"{path} has {_OPTION}=m, and the module's file is not installed for {facts.machine.kernel}",
            "the distribution may have it in another package",
            install_module(facts.distribution),
            details={"path": path},
        )
    else:
        yield ok(f"{_OPTION}={match[1]} in {path}")
