"""All metrics, each with its meaning, and the dashboard for Grafana that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ptttool.metrics.model import Kind, Metric

INFO: Final = Metric("ptttool_info", "Version of ptttool; the value is 1.")

# Of a machine.
PCI_FUNCTIONS: Final = Metric("ptttool_pci_functions", "PCI functions with the ID of a PTT device (19e5:a12e), with and without a driver.")
DEVICES: Final = Metric("ptttool_devices", "PTT devices whose PMU is there, so that they can be used.")
DEVICE_INFO: Final = Metric("ptttool_device_info", "PCI address and NUMA node of a PTT device, empty where unknown; the value is 1.")
DEVICE_CPUS: Final = Metric("ptttool_device_cpus", "CPUs of a PTT device's NUMA node that can record it, by state.")
FILTERS: Final = Metric("ptttool_filters", "Root ports and requesters that a trace of a PTT device can be restricted to.")
TUNE_VALUE: Final = Metric("ptttool_tune_attribute_value", "Value of a tune attribute, 0 to 2.")
TUNE_READABLE: Final = Metric("ptttool_tune_attribute_readable", "Whether a tune attribute could be read (1) or not (0).")
FUNCTION_INFO: Final = Metric(
    "ptttool_function_info",
    "Role and names of a function that a PTT device traces; the device is empty where the kernel does not say it. The value is 1.",
)
LEFT_OUT: Final = Metric("ptttool_left_out", "PTT devices, tune attributes and functions without samples, as there are too many.")
LINK_SPEED: Final = Metric(
    "ptttool_link_speed_transfers_per_second", "Speed of a function's PCIe link, in transfers per second and lane.",
    unit="transfers_per_second",
)  # fmt: skip
LINK_SPEED_LIMIT: Final = Metric(
    "ptttool_link_speed_limit_transfers_per_second", "The fastest speed that a function's link supports.", unit="transfers_per_second"
)
LINK_WIDTH: Final = Metric("ptttool_link_width_lanes", "Lanes of a function's PCIe link.", unit="lanes")
LINK_WIDTH_LIMIT: Final = Metric("ptttool_link_width_limit_lanes", "The most lanes that a function's link supports.", unit="lanes")
JOURNAL_READABLE: Final = Metric("ptttool_journal_readable", "Whether the journal of tune attributes could be read (1) or not (0).")
JOURNAL_CUT_OFF: Final = Metric("ptttool_journal_cut_off_changes", "Changes of tune attributes that were cut off and are half done.")
JOURNAL_HALF_DONE: Final = Metric("ptttool_journal_half_done_attributes", "Tune attributes that changes which were cut off left half done.")
DOCTOR_CHECK: Final = Metric(
    "ptttool_doctor_check_status", "Status of a check of 'ptttool doctor': 1 for the status that it has, 0 for the others."
)
DOCTOR_VERDICT: Final = Metric(
    "ptttool_doctor_verdict", "Whether a trace would work: 1 for the verdict of 'ptttool doctor', 0 for the others."
)

# Of recordings.
RECORDING_READABLE: Final = Metric("ptttool_recording_readable", "Whether a recording could be read to its end (1) or not (0).")
RECORDING_SIZE: Final = Metric("ptttool_recording_size_bytes", "Size of a recording's file.", unit="bytes")
RECORDING_TLPS: Final = Metric("ptttool_recording_tlps", "TLPs in a recording, by direction and class.")
RECORDING_BYTES: Final = Metric("ptttool_recording_carried_bytes", "Bytes of data that TLPs of a recording carried.", unit="bytes")
RECORDING_REQUESTED: Final = Metric(
    "ptttool_recording_requested_bytes", "Bytes that reads and atomics of a recording asked for.", unit="bytes"
)
RECORDING_UNDECODABLE: Final = Metric("ptttool_recording_undecodable_records", "Records of a recording that are not TLPs.", unit="records")
RECORDING_LOSS_SIGNS: Final = Metric("ptttool_recording_loss_signs", "Signs that something is missing from a recording, by severity.")
RECORDING_LATENCY: Final = Metric(
    "ptttool_recording_latency_ticks",
    "Time from a request to its last completion, in ticks of the device, whose length is not documented.",
    Kind.SUMMARY,
    "ticks",
)
RECORDING_LATENCY_MAX: Final = Metric("ptttool_recording_latency_max_ticks", "The longest of these times.", unit="ticks")

METRICS: Final[dict[str, Metric]] = {value.name: value for value in list(globals().values()) if isinstance(value, Metric)}
"""Every metric by its name."""

DASHBOARD: Final = Path(__file__).parents[1] / "share" / "grafana.json"
"""The dashboard; ``tests/metrics/test_dashboard.py`` looks at every query in it."""
