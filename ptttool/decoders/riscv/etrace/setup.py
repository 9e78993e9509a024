"""Parameters of an encoder of RISC-V E-Trace.

Source: "Efficient Trace for RISC-V" 2.0, chapter "Parameters and Discovery"; names of parameters are those of the specification.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ptttool.decoders.parameters import Parameter, Settings, Type, choice, flag, number

VERSIONS = ("2.0", "2019")
# The sizes of support packets' fields and the bits of ioptions differ between encoders.
UNITS: dict[str, dict[str, int]] = {
    "reference": {
        "encoder_mode_bits": 1, "ioptions_bits": 5, "doptions_bits": 4,
        "implicit_return_bit": 0, "implicit_exception_bit": 1, "full_address_bit": 2,
        "jump_target_cache_bit": 3, "branch_prediction_bit": 4,
    },
    "pulp": {
        "encoder_mode_bits": 1, "ioptions_bits": 7, "doptions_bits": 0,
        "implicit_return_bit": 2, "implicit_exception_bit": 4, "full_address_bit": 5,
        "jump_target_cache_bit": 0, "branch_prediction_bit": 1,
    },
}  # fmt: skip


# Parameters of the specification that no packet of instruction trace depends on; files that describe an encoder have them, too.
_UNUSED = (
    "arch_p", "blocks_p", "sijump_p", "comparators_p", "filters_p", "ecause_choice_p", "filter_context_p", "filter_time_p",
    "filter_excint_p", "filter_privilege_p", "filter_tval_p", "ctype_width_p", "ilastsize_width_p", "itype_width_p", "iretire_width_p",
    "retires_p", "taken_branches_p", "impdef_width_p", "daddress_width_p", "dblock_width_p", "data_width_p", "dsize_width_p",
    "dtype_width_p", "iaddr_lsbs_width_p", "lrid_width_p", "lresp_width_p", "ldata_width_p", "sdata_width_p",
)  # fmt: skip


def _width(meaning: str, default: int, minimum: int = 0, maximum: int = 64) -> Any:
    return number(meaning, default, minimum, maximum)


def _own(meaning: str, minimum: int = 0, maximum: int = 32) -> Any:
    return number(f"{meaning}; by default the unit's", None, minimum, maximum, optional=True)


@dataclass(frozen=True, kw_only=True)
class EtraceSettings(Settings):
    """Parameters of an encoder; the names ending in ``_p`` are those of the specification.

    Widths are numbers of bits; some of the specification's discoverable attributes are one less.
    """

    version: str = choice("of the specification: 2.0, or its draft of April 2019, whose packets differ", VERSIONS, "2.0")
    iaddress_width_p: int = _width("bits of an instruction address", 32, 9)
    iaddress_lsb_p: int = _width("lowest bit of an address that is sent: 1 with compressed instructions, else 2", 1, 0, 8)
    privilege_width_p: int = _width("bits of the privilege level", 2, 0, 8)
    context_width_p: int = _width("bits of the context", 1)
    nocontext_p: bool = flag("packets have no context", True)
    time_width_p: int = _width("bits of the time", 1)
    notime_p: bool = flag("packets have no time", True)
    ecause_width_p: int = _width("bits of the cause of an exception", 4, 1, 32)
    notval_p: bool = flag("packets have no trap value (version 2019)", False)
    return_stack_size_p: int = _width("2 to the power of this entries in the return stack; 0: there is none", 0, 0, 31)
    call_counter_size_p: int = _width("bits of the counter of nested calls; 0: there is none", 0, 0, 31)
    f0s_width_p: int = _width("bits of the subformat of format 0; 0: the support packet's options say which", 0, 0, 8)
    cache_size_p: int = _width("2 to the power of this entries in the jump target cache; 0: there is none", 0, 0, 16)
    bpred_size_p: int = _width("2 to the power of this entries in the branch predictor; 0: there is none", 0, 0, 32)
    unit: str = choice("encoder whose support packets these are: widths of their fields, bits of ioptions", UNITS, "reference")
    encoder_mode_bits: int = _own("bits of encoder_mode")
    ioptions_bits: int = _own("bits of ioptions")
    data_trace: bool = flag("support packets have denable, dloss and doptions", False)
    doptions_bits: int = _own("bits of doptions")
    full_address_bit: int = _own("bit of ioptions: addresses are full, not differences (-1: none)", -1, 31)
    implicit_return_bit: int = _own("bit of ioptions: returns to where the call came from are left out (-1: none)", -1, 31)
    implicit_exception_bit: int = _own("bit of ioptions: trap handlers' addresses are left out (-1: none)", -1, 31)
    branch_prediction_bit: int = _own("bit of ioptions: counts of predicted branches (-1: none)", -1, 31)
    jump_target_cache_bit: int = _own("bit of ioptions: indexes into the jump target cache (-1: none)", -1, 31)
    ioptions: int = number("options before the first support packet, for a trace that begins in the middle", 0, 0, (1 << 32) - 1)

    def __post_init__(self) -> None:
        """Take what is not given of the unit."""
        for name, value in UNITS[self.unit].items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters, with those of the encoder that decoding does not depend on."""
        unused = (
            Parameter(name=name, type=Type.INT, meaning="of the encoder; decoding does not depend on it", used=False) for name in _UNUSED
        )
        return (*super().parameters(), *unused)

    @property
    def old(self) -> bool:
        """Whether packets are those of the draft of April 2019."""
        return self.version == "2019"

    @property
    def context_bits(self) -> int:
        """Bits of the context."""
        return 0 if self.nocontext_p else self.context_width_p

    @property
    def moved_context_bits(self) -> int:
        """Bits of the context in packets about the context alone, which always have it in the draft of 2019."""
        return self.context_width_p if self.old else self.context_bits

    @property
    def time_bits(self) -> int:
        """Bits of the time."""
        return 0 if self.notime_p or self.old else self.time_width_p

    @property
    def tval_bits(self) -> int:
        """Bits of the trap value."""
        return 0 if self.old and self.notval_p else self.iaddress_width_p

    @property
    def irdepth_bits(self) -> int:
        """Bits of the depth of the return stack or call counter."""
        return self.return_stack_size_p + (self.return_stack_size_p > 0) + self.call_counter_size_p

    @property
    def address_bits(self) -> int:
        """Bits of the address field."""
        return self.iaddress_width_p - self.iaddress_lsb_p

    @property
    def tail_bits(self) -> int:
        """Bits of notify, updiscon, irreport and irdepth, which follow the address of formats 0 to 2."""
        return 0 if self.old else 3 + self.irdepth_bits

    @property
    def words(self) -> int:
        """Words of 64 bits that hold every packet."""
        start = 5 + self.privilege_width_p + self.time_bits + max(self.context_bits, self.moved_context_bits)
        trap = start + self.ecause_width_p + 2 + self.address_bits + self.tval_bits
        support = 5 + self.encoder_mode_bits + 2 + self.ioptions_bits + 2 + self.doptions_bits
        count = 2 + self.f0s_width_p + 34 + self.address_bits + self.tail_bits
        cache = 2 + self.f0s_width_p + self.cache_size_p + 36 + self.tail_bits
        branches = 38 + self.address_bits + self.tail_bits
        # One more, since a field may cross the end of a word.
        return max(-(-max(trap, support, count, cache, branches) // 64) + 1, 3)
