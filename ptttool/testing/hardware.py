"""What kinds of PCI functions a fake machine can have."""

from __future__ import annotations

from dataclasses import dataclass

from ptttool.machine.model import Link

# The link of an endpoint, and of a function in the root complex: that has the files, but no link.
GEN1_X1 = Link("2.5 GT/s PCIe", 1, "2.5 GT/s PCIe", 1)
NO_LINK = Link("Unknown", 0, "Unknown", 255)


@dataclass(frozen=True)
class Hardware:
    """A kind of PCI function.

    Parameters
    ----------
    vendor, device
        The PCI IDs.
    class_code
        24 bits: class, subclass, interface.
    driver
        The kernel's driver that is bound to it, if any.
    vendor_name, device_name
        The names in udev's hardware database; None where it has none.
    subsystem_vendor, subsystem_device, revision
        The other IDs of the configuration space.
    link
        The state of its PCIe link; None for a function without one.
    is_integrated
        Whether it is an integrated endpoint: it is in the root complex, and has no link.
    """

    vendor: int
    device: int
    class_code: int
    driver: str | None = None
    vendor_name: str | None = None
    device_name: str | None = None
    subsystem_vendor: int = 0
    subsystem_device: int = 0
    revision: int = 0
    link: Link | None = GEN1_X1
    is_integrated: bool = False

    @property
    def is_bridge(self) -> bool:
        """True for a root port and for the ports of a switch."""
        return self.class_code >> 8 == 0x0604

    @property
    def modalias(self) -> str:
        """The text by which the kernel looks for drivers."""
        base, sub, interface = self.class_code.to_bytes(3, "big")
        return (
            f"pci:v{self.vendor:08X}d{self.device:08X}sv{self.subsystem_vendor:08X}sd{self.subsystem_device:08X}"
            f"bc{base:02X}sc{sub:02X}i{interface:02X}"
        )


HOST_BRIDGE = Hardware(
    0x1B36,
    0x0008,
    0x060000,
    vendor_name="Red Hat, Inc.",
    device_name="QEMU PCIe Host bridge",
    subsystem_vendor=0x1AF4,
    subsystem_device=0x1100,
    link=None,
)
PTT = Hardware(
    0x19E5,
    0xA12E,
    0x088000,
    "hisi_ptt",
    vendor_name="Huawei Technologies Co., Ltd.",
    subsystem_vendor=0x1AF4,
    subsystem_device=0x1100,
    revision=0x21,
    link=NO_LINK,
)
ROOT_PORT = Hardware(
    0x1B36,
    0x000C,
    0x060400,
    "pcieport",
    vendor_name="Red Hat, Inc.",
    device_name="QEMU PCIe Root port",
    subsystem_vendor=0x1B36,
    link=Link("2.5 GT/s PCIe", 1, "16.0 GT/s PCIe", 4),
)
SWITCH_UPSTREAM = Hardware(
    0x104C,
    0x8232,
    0x060400,
    "pcieport",
    vendor_name="Texas Instruments",
    device_name="XIO3130 PCI Express Switch (Upstream)",
    revision=2,
)
SWITCH_DOWNSTREAM = Hardware(
    0x104C,
    0x8233,
    0x060400,
    "pcieport",
    vendor_name="Texas Instruments",
    device_name="XIO3130 PCI Express Switch (Downstream)",
    revision=1,
    link=Link("2.5 GT/s PCIe", 1, "Unknown", 0),
)
NVME = Hardware(
    0x1B36,
    0x0010,
    0x010802,
    "nvme",
    vendor_name="Red Hat, Inc.",
    device_name="QEMU NVM Express Controller",
    subsystem_vendor=0x1AF4,
    subsystem_device=0x1100,
    revision=2,
)
NIC = Hardware(
    0x8086,
    0x10D3,
    0x020000,
    "e1000e",
    vendor_name="Intel Corporation",
    device_name="82574L Gigabit Network Connection",
    subsystem_vendor=0x8086,
)
HNS3 = Hardware(
    0x19E5,
    0xA222,
    0x020000,
    "hns3",
    vendor_name="Huawei Technologies Co., Ltd.",
    device_name="HNS RDMA Network Controller",
    subsystem_vendor=0x19E5,
    revision=0x21,
    link=NO_LINK,
    is_integrated=True,
)
SAS = Hardware(
    0x19E5,
    0xA230,
    0x010700,
    "hisi_sas_v3_hw",
    vendor_name="Huawei Technologies Co., Ltd.",
    device_name="HiSilicon SAS 3.0 HBA",
    subsystem_vendor=0x19E5,
    revision=0x21,
    link=NO_LINK,
    is_integrated=True,
)
