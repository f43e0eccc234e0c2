"""Judge a session: what leaks, what it costs and what freeing it would save (SPEC 6, 7 and 9)."""
