"""Capture the calls of models at the HTTP layer, without cost or risk to the host."""
