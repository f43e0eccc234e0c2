"""Read transcripts that agents left on disk as calls with their content."""
