"""Parts of benchmarks/overhead.py."""
