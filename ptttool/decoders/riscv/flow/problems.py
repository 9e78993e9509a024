"""Why a program cannot be followed."""

from __future__ import annotations

from enum import StrEnum


class Problem(StrEnum):
    """Why a program cannot be followed from a packet on; the order is that of the codes in tables."""

    NO_OUTCOME = "no_outcome"
    OUTCOMES_LEFT = "outcomes_left"
    UNEXPECTED_JUMP = "unexpected_jump"
    ENDLESS_LOOP = "endless_loop"
    ILLEGAL = "illegal_instruction"
    NO_CODE = "no_code"
    BAD_PACKET = "bad_packet"
    IMPLICIT_RETURN = "implicit_return"
    IMPLICIT_EXCEPTION = "implicit_exception"
    BRANCH_PREDICTION = "branch_prediction"
    JUMP_TARGET_CACHE = "jump_target_cache"
    OVER_BUDGET = "over_budget"


class WalkError(Exception):
    """The program cannot be followed.

    Parameters
    ----------
    problem : Problem
        Why.
    missing : int
        The address that it has no code for.
    """

    def __init__(self, problem: Problem, missing: int = 0) -> None:
        super().__init__(problem)
        self.problem, self.missing = problem, missing


PROBLEMS = tuple(problem.value for problem in Problem)
PROBLEM_CODES = {problem: code for code, problem in enumerate(Problem)}
MISMATCHES = (Problem.NO_OUTCOME, Problem.OUTCOMES_LEFT, Problem.UNEXPECTED_JUMP, Problem.ENDLESS_LOOP, Problem.ILLEGAL)
"""Problems that mean that the program is not the one that was traced."""

REMARKS = {
    Problem.NO_OUTCOME: "packets and program do not agree: no packet has the outcome of a branch",
    Problem.OUTCOMES_LEFT: "packets and program do not agree: more outcomes than branches",
    Problem.UNEXPECTED_JUMP: "packets and program do not agree: no packet has the target of a jump",
    Problem.ENDLESS_LOOP: "packets and program do not agree: the program never reaches the address of a packet",
    Problem.ILLEGAL: "packets and program do not agree: an address in the trace does not hold an instruction",
    Problem.BAD_PACKET: "a malformed packet: the program is not followed up to the next synchronisation",
    Problem.IMPLICIT_RETURN: "the encoder leaves returns out (implicit return): they cannot be followed",
    Problem.IMPLICIT_EXCEPTION: "the encoder leaves the addresses of trap handlers out (implicit exception): they cannot be followed",
    Problem.BRANCH_PREDICTION: "the encoder predicts branches: this cannot be followed",
    Problem.JUMP_TARGET_CACHE: "the encoder has a jump target cache: this cannot be followed",
    Problem.OVER_BUDGET: "more instructions for each byte of trace than the budget allows: followed again from a later synchronisation",
}
"""What people read about a problem; :attr:`Problem.NO_CODE` has elements of its own."""
