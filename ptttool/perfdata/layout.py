"""Numbers and layouts of perf.data from the Linux sources; little-endian.

Sources, by path in the Linux tree: ``include/uapi/linux/perf_event.h`` [uapi], ``tools/lib/perf/include/perf/event.h`` [event],
``tools/perf/util/header.h`` [header], ``tools/perf/Documentation/perf.data-file-format.txt`` [format].
"""

from __future__ import annotations

from struct import Struct

# [format], [header]: the magic number also tells the byte order; version 1 ended with perf 3.0.
MAGIC = b"PERFILE2"
MAGIC_OTHER_ENDIAN = MAGIC[::-1]
MAGIC_VERSION_1 = b"PERFFILE"

# struct perf_pipe_file_header: magic, size of this header (16).
PIPE_HEADER = Struct("<8sQ")
# struct perf_file_header: magic, size, attr_size, then attrs, data and event_types as (offset, size), then 256 feature bits.
FILE_HEADER = Struct("<8sQQQQQQQQ")
DATA_FIELD = 40  # offset in the file header of the data section's offset
FEATURE_BITS = Struct("<4Q")
FILE_HEADER_SIZE = FILE_HEADER.size + FEATURE_BITS.size  # 104; a header of 72 has no feature bits
SECTION = Struct("<QQ")  # struct perf_file_section: offset, size

# struct perf_event_header: type, misc, size of the whole record.
RECORD = Struct("<IHH")
U32 = Struct("<I")
U64 = Struct("<Q")

# [uapi] enum perf_event_type: written by the kernel, multiples of 8 bytes long, followed by what sample_id_all appends.
KERNEL_RECORDS = {
    1: "MMAP", 2: "LOST", 3: "COMM", 4: "EXIT", 5: "THROTTLE", 6: "UNTHROTTLE", 7: "FORK", 8: "READ", 9: "SAMPLE", 10: "MMAP2", 11: "AUX",
    12: "ITRACE_START", 13: "LOST_SAMPLES", 14: "SWITCH", 15: "SWITCH_CPU_WIDE", 16: "NAMESPACES", 17: "KSYMBOL", 18: "BPF_EVENT",
    19: "CGROUP", 20: "TEXT_POKE", 21: "AUX_OUTPUT_HW_ID", 22: "CALLCHAIN_DEFERRED",
}  # fmt: skip
# [event] enum perf_user_event_type: written by perf itself.
USER_RECORDS = {
    64: "ATTR", 65: "EVENT_TYPE", 66: "TRACING_DATA", 67: "BUILD_ID", 68: "FINISHED_ROUND", 69: "ID_INDEX", 70: "AUXTRACE_INFO",
    71: "AUXTRACE", 72: "AUXTRACE_ERROR", 73: "THREAD_MAP", 74: "CPU_MAP", 75: "STAT_CONFIG", 76: "STAT", 77: "STAT_ROUND",
    78: "EVENT_UPDATE", 79: "TIME_CONV", 80: "HEADER_FEATURE", 81: "COMPRESSED", 82: "FINISHED_INIT", 83: "COMPRESSED2",
    84: "BPF_METADATA",
}  # fmt: skip
RECORD_NAMES = {**KERNEL_RECORDS, **USER_RECORDS}

SAMPLE, AUX, AUX_OUTPUT_HW_ID = 9, 11, 21
HEADER_ATTR, TRACING_DATA, ID_INDEX, AUXTRACE_INFO, AUXTRACE = 64, 66, 69, 70, 71
EVENT_UPDATE, HEADER_FEATURE, COMPRESSED, COMPRESSED2 = 78, 80, 81, 83

AUX_BODY = Struct("<QQQ")  # [event] struct perf_record_aux: aux_offset, aux_size, flags
AUXTRACE_BODY = Struct("<QQQIiiI")  # struct perf_record_auxtrace: size, offset, reference, idx, tid, cpu, reserved; the payload follows
AUXTRACE_INFO_BODY = Struct("<II")  # struct perf_record_auxtrace_info: type, reserved, u64 priv[]
ID_INDEX_ENTRY = Struct("<QQqq")  # struct id_index_entry: id, idx, cpu, tid
EVENT_UPDATE_BODY = Struct("<QQ")  # struct perf_record_event_update: type, id, data
EVENT_UPDATE_NAME = 2  # PERF_EVENT_UPDATE__NAME

# [uapi] struct perf_event_attr, the parts used: type, size, config, sample_period, sample_type, read_format, flag bits.
ATTR = Struct("<IIQQQQQ")
ATTR_SIZE_VER0 = 64  # PERF_ATTR_SIZE_VER0: the smallest; a size of 0 means this one
SAMPLE_ID_ALL = 1 << 18  # sample_id_all is the 19th flag bit

# [uapi] enum perf_event_sample_format, those that sample_id_all appends and those that precede a sample's time.
SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID = 1, 2, 4, 64
SAMPLE_CPU, SAMPLE_STREAM_ID, SAMPLE_IDENTIFIER = 128, 512, 1 << 16
# [uapi] struct sample_id: the trailer's fields in their order, 8 bytes each where the bit of sample_type is set.
TRAILER_FIELDS = (SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER)

# [header] enum of HEADER_*: number of the bit, and of PERF_RECORD_HEADER_FEATURE.
FEATURES = {
    3: "hostname", 4: "osrelease", 5: "version", 6: "arch", 7: "nrcpus", 8: "cpudesc", 9: "cpuid", 10: "total_mem", 11: "cmdline",
    12: "event_desc", 14: "numa_topology", 16: "pmu_mappings", 21: "sample_time", 24: "dir_format", 27: "compressed",
}  # fmt: skip
