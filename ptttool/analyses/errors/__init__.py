"""What went wrong: error completions and messages, poisoned data, illegal headers, requests without an answer."""
