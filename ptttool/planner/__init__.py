"""Plan recordings: what has to be traced so that a question is answered, what that costs, and whether it came out so.

A purpose is the name of an analysis. What an analysis needs is declared with it (:mod:`ptttool.analyses.needs`); everything here follows
from that, so an analysis of another package has a plan, too.
"""
