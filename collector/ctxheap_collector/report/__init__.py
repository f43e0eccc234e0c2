"""Turn heaps into profiles, and profiles into JSON and a terminal report."""
