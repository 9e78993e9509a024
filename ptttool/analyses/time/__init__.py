"""What the Time field of TLPs says, and what it cannot say."""
