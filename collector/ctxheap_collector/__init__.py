"""Read, store and report what agents send."""
