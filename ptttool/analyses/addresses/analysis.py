"""The analysis ``addresses``."""

from __future__ import annotations

from ptttool.analyses.addresses.document import AddressMap
from ptttool.analyses.addresses.findings import address_map
from ptttool.analyses.addresses.sums import COLUMNS, AddressSums
from ptttool.analyses.contract import ANALYSES, AnalysisContext
from ptttool.analyses.needs import Need
from ptttool.analyses.scope import Scope, TlpAnalysis
from ptttool.table.batch import Batch


class Addresses(TlpAnalysis[AddressMap]):
    """Sums requests by their address."""

    name = "addresses"
    meaning = "requests by address: regions, hot pages, interrupts, doorbells, peer-to-peer, alignment, 4 KiB crossings"
    columns = COLUMNS
    needs = (
        Need("addresses that devices read and write", "--direction inbound --type p,np", inbound=("P", "NP"), is_sum=True),
        Need("registers that the processor writes", "--direction outbound --type p", outbound=("P",), is_vital=False),
    )

    def __init__(self, scope: Scope | None = None) -> None:
        super().__init__(scope)
        self._sums = AddressSums(self.scope.regions)

    def update(self, batch: Batch) -> None:
        """Add TLPs."""
        self._sums.add(batch)

    def merge(self, later: Addresses) -> None:
        """Add the requests behind."""
        self._sums.merge(later._sums)

    def result(self, context: AnalysisContext) -> AddressMap:
        """Return the sums, and what follows from them."""
        return address_map(self._sums, context.machine)


ANALYSES.add("addresses", Addresses)
