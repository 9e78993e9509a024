"""Commands that mend what checks find, for the distribution of the machine."""

from __future__ import annotations

from collections.abc import Collection

_DEBIAN = frozenset({"debian", "uos", "deepin"})
_RPM = frozenset({"openeuler", "kylin", "rhel", "fedora", "centos", "rocky", "almalinux", "anolis", "euleros", "bclinux", "tencentos"})
_SUSE = frozenset({"suse", "opensuse", "sles", "opensuse-leap", "opensuse-tumbleweed"})


def install_perf(distribution: Collection[str]) -> str | None:
    """Return the command that installs perf; None for a distribution that is not known."""
    if "ubuntu" in distribution:
        return "apt-get install linux-tools-$(uname -r)"
    if _DEBIAN & set(distribution):
        return "apt-get install linux-perf"
    if _RPM & set(distribution):
        return "dnf install perf"
    return "zypper install perf" if _SUSE & set(distribution) else None


def install_module(distribution: Collection[str]) -> str | None:
    """Return the command that installs modules which a distribution has in a package of their own; None where there is none."""
    if "ubuntu" in distribution:
        return "apt-get install linux-modules-extra-$(uname -r)"
    return "dnf install kernel-modules-extra-$(uname -r)" if {"rhel", "fedora", "centos"} & set(distribution) else None


def boot_with(parameter: str, distribution: Collection[str]) -> str | None:
    """Return the command that adds a parameter to the kernel's command line; None for a distribution that is not known.

    Parameters
    ----------
    parameter : str
        Such as ``iommu.passthrough=1``.
    distribution : collection of str
        Names of the distribution.
    """
    ids = set(distribution)
    if _RPM & ids:
        return f"grubby --update-kernel=ALL --args={parameter}"
    if ids & (_DEBIAN | {"ubuntu"}):
        name = parameter.partition("=")[0].replace(".", "-")
        line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {parameter}"'
        return f"mkdir -p /etc/default/grub.d && echo '{line}' > /etc/default/grub.d/{name}.cfg && update-grub"
    return None
