"""How large writes, read requests and completions are, against what the functions are set to."""
