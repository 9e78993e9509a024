"""Tune and trace PCIe links with the HiSilicon PTT device, and decode its traces.

What ``__all__`` lists is the library; it follows semantic versioning. Everything is imported when it is first used: ``import ptttool``
costs nothing.
"""

# Not from typing: its import takes longer than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptttool._version import __version__
    from ptttool.analyses.contract import ANALYSES, Analysis, AnalysisContext
    from ptttool.analyses.needs import Lack, Need
    from ptttool.api.analyses import Analyzed, AnalyzedRecordings, Comparison, analyze, compare
    from ptttool.api.capture import (
        BuiltEvent,
        ChosenEvent,
        Explanation,
        Leftover,
        Plan,
        Recorded,
        RecoveredRecording,
        Subject,
        build_event,
        explain_event,
        find_unfinished,
        plan_recording,
        record,
        recover_recording,
    )
    from ptttool.api.collect import Collection, collect_machine
    from ptttool.api.live import Sample, Sampling, samples
    from ptttool.api.machine import (
        Change,
        ChangeState,
        Examination,
        Export,
        History,
        Machine,
        ProfileDiff,
        PttDevice,
        RecoverAction,
        Recovery,
        Snapshot,
        TunePlan,
        Undo,
        apply_tune_profile,
        diff_tune_profile,
        examine_machine,
        export_tune_profile,
        find_device,
        find_devices,
        find_machine,
        recover_tune_attributes,
        save_tune_profile,
        set_tune_attributes,
        tune_attributes,
        tune_history,
        undo_tune_changes,
    )
    from ptttool.api.metrics import Metrics, machine_metrics, recording_metrics
    from ptttool.api.planning import CapturePlan, RecordedPlan, plan_for, record_plan
    from ptttool.api.recording import Recording, open
    from ptttool.api.sweep import SweepOptions, SweepPlan, SweepResult, plan_sweep, sweep_options, sweep_tune_attributes
    from ptttool.decoders.contract import PROTOCOLS
    from ptttool.diagnostics import Diagnostic, Severity
    from ptttool.errors import (
        AccessError,
        BusyError,
        DeviceError,
        EmptyTraceError,
        ExitCode,
        HardwareError,
        InputError,
        InternalError,
        InterruptedByUserError,
        MissingPackageError,
        NotAsAskedError,
        OutputError,
        PerfError,
        PlugInError,
        PtttoolError,
        UsageError,
        WorkersError,
        WorkloadError,
    )
    from ptttool.exporters.contract import EXPORTERS, ExportContext, Exporter
    from ptttool.table.batch import Batch
    from ptttool.table.schema import Column, DType, Schema, Style

__all__ = [
    "ANALYSES",
    "EXPORTERS",
    "PROTOCOLS",
    "AccessError",
    "Analysis",
    "AnalysisContext",
    "Analyzed",
    "AnalyzedRecordings",
    "Batch",
    "BuiltEvent",
    "BusyError",
    "CapturePlan",
    "Change",
    "ChangeState",
    "ChosenEvent",
    "Collection",
    "Column",
    "Comparison",
    "DType",
    "DeviceError",
    "Diagnostic",
    "EmptyTraceError",
    "Examination",
    "ExitCode",
    "Explanation",
    "Export",
    "ExportContext",
    "Exporter",
    "HardwareError",
    "History",
    "InputError",
    "InternalError",
    "InterruptedByUserError",
    "Lack",
    "Leftover",
    "Machine",
    "Metrics",
    "MissingPackageError",
    "Need",
    "NotAsAskedError",
    "OutputError",
    "PerfError",
    "Plan",
    "PlugInError",
    "ProfileDiff",
    "PttDevice",
    "PtttoolError",
    "Recorded",
    "RecordedPlan",
    "Recording",
    "RecoverAction",
    "RecoveredRecording",
    "Recovery",
    "Sample",
    "Sampling",
    "Schema",
    "Severity",
    "Snapshot",
    "Style",
    "Subject",
    "SweepOptions",
    "SweepPlan",
    "SweepResult",
    "TunePlan",
    "Undo",
    "UsageError",
    "WorkersError",
    "WorkloadError",
    "__version__",
    "analyze",
    "apply_tune_profile",
    "build_event",
    "collect_machine",
    "compare",
    "diff_tune_profile",
    "examine_machine",
    "explain_event",
    "export_tune_profile",
    "find_device",
    "find_devices",
    "find_machine",
    "find_unfinished",
    "machine_metrics",
    "open",
    "plan_for",
    "plan_recording",
    "plan_sweep",
    "record",
    "record_plan",
    "recording_metrics",
    "recover_recording",
    "recover_tune_attributes",
    "samples",
    "save_tune_profile",
    "set_tune_attributes",
    "sweep_options",
    "sweep_tune_attributes",
    "tune_attributes",
    "tune_history",
    "undo_tune_changes",
]

# The module that each name comes from.
_HOMES = {
    name: module
    for module, names in {
        "ptttool._version": "__version__",
        "ptttool.analyses.contract": "ANALYSES Analysis AnalysisContext",
        "ptttool.analyses.needs": "Lack Need",
        "ptttool.api.analyses": "Analyzed AnalyzedRecordings Comparison analyze compare",
        "ptttool.api.capture": (
            "BuiltEvent ChosenEvent Explanation Leftover Plan Recorded RecoveredRecording Subject build_event explain_event "
            "find_unfinished plan_recording record recover_recording"
        ),
        "ptttool.api.live": "Sample Sampling samples",
        "ptttool.api.collect": "Collection collect_machine",
        "ptttool.api.machine": (
            "Change ChangeState Examination Export History Machine ProfileDiff PttDevice RecoverAction Recovery Snapshot TunePlan Undo "
            "apply_tune_profile diff_tune_profile examine_machine export_tune_profile find_device find_devices find_machine "
            "recover_tune_attributes save_tune_profile set_tune_attributes tune_attributes tune_history undo_tune_changes"
        ),
        "ptttool.api.planning": "CapturePlan RecordedPlan plan_for record_plan",
        "ptttool.api.metrics": "Metrics machine_metrics recording_metrics",
        "ptttool.api.recording": "Recording open",
        "ptttool.api.sweep": "SweepOptions SweepPlan SweepResult plan_sweep sweep_options sweep_tune_attributes",
        "ptttool.decoders.contract": "PROTOCOLS",
        "ptttool.diagnostics": "Diagnostic Severity",
        "ptttool.errors": (
            "AccessError BusyError DeviceError EmptyTraceError ExitCode HardwareError InputError InternalError InterruptedByUserError "
            "MissingPackageError NotAsAskedError OutputError PerfError PlugInError PtttoolError UsageError WorkersError WorkloadError"
        ),
        "ptttool.exporters.contract": "EXPORTERS ExportContext Exporter",
        "ptttool.table.batch": "Batch",
        "ptttool.table.schema": "Column DType Schema Style",
    }.items()
    for name in names.split()
}


if not TYPE_CHECKING:  # to a type checker, an unknown name stays an error

    def __getattr__(name):
        """Import a public name when it is first used."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'ptttool' has no attribute {name!r}")
        import importlib

        value = globals()[name] = getattr(importlib.import_module(home), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
