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
    """Parameters of an encoder; the names ending in ``_p`` are those of the specification."""

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
    encoder_mode_bits: int | None = _own("bits of encoder_mode")
    ioptions_bits: int | None = _own("bits of ioptions")
    data_trace: bool = flag("support packets have denable, dloss and doptions", False)
    doptions_bits: int | None = _own("bits of doptions")
    full_address_bit: int | None = _own("bit of ioptions: addresses are full, not differences (-1: none)", -1, 31)
    implicit_return_bit: int | None = _own("bit of ioptions: returns to where the call came from are left out (-1: none)", -1, 31)
    implicit_exception_bit: int | None = _own("bit of ioptions: trap handlers' addresses are left out (-1: none)", -1, 31)
    branch_prediction_bit: int | None = _own("bit of ioptions: counts of predicted branches (-1: none)", -1, 31)
    jump_target_cache_bit: int | None = _own("bit of ioptions: indexes into the jump target cache (-1: none)", -1, 31)
    ioptions: int = number("options before the first support packet, for a trace that begins in the middle", 0, 0, (1 << 32) - 1)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the parameters, with those of the encoder that decoding does not depend on."""
        unused = (
            Parameter(name=name, type=Type.INT, meaning="of the encoder; decoding does not depend on it", used=False) for name in _UNUSED
        )
        return (*super().parameters(), *unused)


@dataclass(frozen=True)
class Setup:
    """What decoding needs of the parameters. Widths are numbers of bits; some of the specification's discoverable attributes are one less.

    Parameters
    ----------
    old : bool
        Whether packets are those of the draft of April 2019.
    address_width, address_lsb : int
        Bits of an address, and the lowest one that is sent.
    moved_context_bits : int
        Bits of the context in packets about the context alone.
    irdepth_bits : int
        Bits of the depth of the return stack or call counter.
    predicts : bool
        Whether the encoder has a branch predictor.
    implicit_return_bit, ... : int
        Which bit of ioptions it is; -1 for none.
    initial : int
        The options before the first support packet.
    """

    old: bool
    address_width: int
    address_lsb: int
    context_bits: int
    moved_context_bits: int
    time_bits: int
    privilege_bits: int
    ecause_bits: int
    tval_bits: int
    subformat_bits: int
    cache_bits: int
    irdepth_bits: int
    predicts: bool
    encoder_mode_bits: int
    ioptions_bits: int
    doptions_bits: int
    data_trace: bool
    implicit_return_bit: int
    implicit_exception_bit: int
    full_address_bit: int
    jump_target_cache_bit: int
    branch_prediction_bit: int
    initial: int

    @classmethod
    def of(cls, settings: EtraceSettings) -> Setup:
        """Make it of the parameters."""
        old = settings.version == "2019"
        unit = UNITS[settings.unit]
        given = {name: getattr(settings, name) for name in unit}
        own = {name: unit[name] if value is None else value for name, value in given.items()}
        stack, counter = settings.return_stack_size_p, settings.call_counter_size_p
        context = settings.context_width_p
        return cls(
            old=old,
            address_width=settings.iaddress_width_p,
            address_lsb=settings.iaddress_lsb_p,
            context_bits=0 if settings.nocontext_p else context,
            # A packet about the context alone always has it in the draft of 2019.
            moved_context_bits=0 if settings.nocontext_p and not old else context,
            time_bits=0 if settings.notime_p or old else settings.time_width_p,
            privilege_bits=settings.privilege_width_p,
            ecause_bits=settings.ecause_width_p,
            tval_bits=0 if old and settings.notval_p else settings.iaddress_width_p,
            subformat_bits=settings.f0s_width_p,
            cache_bits=settings.cache_size_p,
            irdepth_bits=stack + (stack > 0) + counter,
            predicts=settings.bpred_size_p > 0,
            data_trace=settings.data_trace and not old,
            initial=settings.ioptions,
            **own,
        )

    @property
    def address_bits(self) -> int:
        """Bits of the address field."""
        return self.address_width - self.address_lsb

    @property
    def tail_bits(self) -> int:
        """Bits of notify, updiscon, irreport and irdepth, which follow the address of formats 0 to 2."""
        return 0 if self.old else 3 + self.irdepth_bits

    @property
    def words(self) -> int:
        """Words of 64 bits that hold every packet."""
        start = 5 + self.privilege_bits + self.time_bits + max(self.context_bits, self.moved_context_bits)
        trap = start + self.ecause_bits + 2 + self.address_bits + self.tval_bits
        support = 5 + self.encoder_mode_bits + 2 + self.ioptions_bits + 2 + self.doptions_bits
        count = 2 + self.subformat_bits + 34 + self.address_bits + self.tail_bits
        cache = 2 + self.subformat_bits + self.cache_bits + 36 + self.tail_bits
        branches = 38 + self.address_bits + self.tail_bits
        # One more, since a field may cross the end of a word.
        return max(-(-max(trap, support, count, cache, branches) // 64) + 1, 3)
