"""Tune and trace PCIe links with the HiSilicon PTT device, and decode its traces.

What ``__all__`` lists is the library; it follows semantic versioning. Everything is imported when it is first used: ``import ptttool``
costs nothing.
"""

# For type checkers, which take NAME as NAME for public. Not from typing: its import takes longer than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ptttool._version import __version__ as __version__
    from ptttool.analyses.compare.comparison import Comparison as Comparison
    from ptttool.analyses.contract import ANALYSES as ANALYSES
    from ptttool.analyses.contract import Analysis as Analysis
    from ptttool.analyses.contract import AnalysisContext as AnalysisContext
    from ptttool.analyses.needs import Lack as Lack
    from ptttool.analyses.needs import Need as Need
    from ptttool.api.analyses import Analyzed as Analyzed
    from ptttool.api.analyses import AnalyzedRecordings as AnalyzedRecordings
    from ptttool.api.analyses import analyze as analyze
    from ptttool.api.analyses import compare as compare
    from ptttool.api.capture import BuiltEvent as BuiltEvent
    from ptttool.api.capture import ChosenEvent as ChosenEvent
    from ptttool.api.capture import Explanation as Explanation
    from ptttool.api.capture import Leftover as Leftover
    from ptttool.api.capture import Plan as Plan
    from ptttool.api.capture import Recorded as Recorded
    from ptttool.api.capture import RecoveredRecording as RecoveredRecording
    from ptttool.api.capture import Subject as Subject
    from ptttool.api.capture import build_event as build_event
    from ptttool.api.capture import explain_event as explain_event
    from ptttool.api.capture import find_unfinished as find_unfinished
    from ptttool.api.capture import plan_recording as plan_recording
    from ptttool.api.capture import record as record
    from ptttool.api.capture import recover_recording as recover_recording
    from ptttool.api.collect import Collection as Collection
    from ptttool.api.collect import collect_machine as collect_machine
    from ptttool.api.live import Sample as Sample
    from ptttool.api.live import Sampling as Sampling
    from ptttool.api.live import samples as samples
    from ptttool.api.machine import Change as Change
    from ptttool.api.machine import ChangeState as ChangeState
    from ptttool.api.machine import Examination as Examination
    from ptttool.api.machine import Export as Export
    from ptttool.api.machine import History as History
    from ptttool.api.machine import Machine as Machine
    from ptttool.api.machine import ProfileDiff as ProfileDiff
    from ptttool.api.machine import PttDevice as PttDevice
    from ptttool.api.machine import RecoverAction as RecoverAction
    from ptttool.api.machine import Recovery as Recovery
    from ptttool.api.machine import Snapshot as Snapshot
    from ptttool.api.machine import TunePlan as TunePlan
    from ptttool.api.machine import Undo as Undo
    from ptttool.api.machine import apply_tune_profile as apply_tune_profile
    from ptttool.api.machine import diff_tune_profile as diff_tune_profile
    from ptttool.api.machine import examine_machine as examine_machine
    from ptttool.api.machine import export_tune_profile as export_tune_profile
    from ptttool.api.machine import find_device as find_device
    from ptttool.api.machine import find_devices as find_devices
    from ptttool.api.machine import find_machine as find_machine
    from ptttool.api.machine import recover_tune_attributes as recover_tune_attributes
    from ptttool.api.machine import save_tune_profile as save_tune_profile
    from ptttool.api.machine import set_tune_attributes as set_tune_attributes
    from ptttool.api.machine import tune_attributes as tune_attributes
    from ptttool.api.machine import tune_history as tune_history
    from ptttool.api.machine import undo_tune_changes as undo_tune_changes
    from ptttool.api.metrics import Metrics as Metrics
    from ptttool.api.metrics import machine_metrics as machine_metrics
    from ptttool.api.metrics import recording_metrics as recording_metrics
    from ptttool.api.planning import CapturePlan as CapturePlan
    from ptttool.api.planning import RecordedPlan as RecordedPlan
    from ptttool.api.planning import plan_for as plan_for
    from ptttool.api.planning import record_plan as record_plan
    from ptttool.api.recording import Recording as Recording
    from ptttool.api.recording import open as open
    from ptttool.api.selftest import Judged as Judged
    from ptttool.api.selftest import SelfTest as SelfTest
    from ptttool.api.selftest import Verdict as Verdict
    from ptttool.api.selftest import judge_recordings as judge_recordings
    from ptttool.api.selftest import run_selftest as run_selftest
    from ptttool.api.sweep import SweepOptions as SweepOptions
    from ptttool.api.sweep import SweepPlan as SweepPlan
    from ptttool.api.sweep import SweepResult as SweepResult
    from ptttool.api.sweep import plan_sweep as plan_sweep
    from ptttool.api.sweep import sweep_options as sweep_options
    from ptttool.api.sweep import sweep_tune_attributes as sweep_tune_attributes
    from ptttool.api.until import Search as Search
    from ptttool.api.until import record_until as record_until
    from ptttool.decoders.contract import PROTOCOLS as PROTOCOLS
    from ptttool.diagnostics import Diagnostic as Diagnostic
    from ptttool.diagnostics import Severity as Severity
    from ptttool.errors import AccessError as AccessError
    from ptttool.errors import BusyError as BusyError
    from ptttool.errors import DeviceError as DeviceError
    from ptttool.errors import EmptyTraceError as EmptyTraceError
    from ptttool.errors import ExitCode as ExitCode
    from ptttool.errors import HardwareError as HardwareError
    from ptttool.errors import InputError as InputError
    from ptttool.errors import InternalError as InternalError
    from ptttool.errors import InterruptedByUserError as InterruptedByUserError
    from ptttool.errors import MissingPackageError as MissingPackageError
    from ptttool.errors import NotAsAskedError as NotAsAskedError
    from ptttool.errors import OutputError as OutputError
    from ptttool.errors import PerfError as PerfError
    from ptttool.errors import PlugInError as PlugInError
    from ptttool.errors import PtttoolError as PtttoolError
    from ptttool.errors import UsageError as UsageError
    from ptttool.errors import WorkersError as WorkersError
    from ptttool.errors import WorkloadError as WorkloadError
    from ptttool.exporters.contract import EXPORTERS as EXPORTERS
    from ptttool.exporters.contract import ExportContext as ExportContext
    from ptttool.exporters.contract import Exporter as Exporter
    from ptttool.table.batch import Batch as Batch
    from ptttool.table.schema import Column as Column
    from ptttool.table.schema import DType as DType
    from ptttool.table.schema import Schema as Schema
    from ptttool.table.schema import Style as Style

# The module that each name comes from.
_HOMES = {
    name: module
    for module, names in {
        "ptttool._version": "__version__",
        "ptttool.analyses.compare.comparison": "Comparison",
        "ptttool.analyses.contract": "ANALYSES Analysis AnalysisContext",
        "ptttool.analyses.needs": "Lack Need",
        "ptttool.api.analyses": "Analyzed AnalyzedRecordings analyze compare",
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
        "ptttool.api.selftest": "Judged SelfTest Verdict judge_recordings run_selftest",
        "ptttool.api.sweep": "SweepOptions SweepPlan SweepResult plan_sweep sweep_options sweep_tune_attributes",
        "ptttool.api.until": "Search record_until",
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
__all__ = list(_HOMES)


if not TYPE_CHECKING:  # to a type checker, an unknown name stays an error

    def __getattr__(name):
        """Import a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module 'ptttool' has no attribute {name!r}")
        import importlib

        value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
