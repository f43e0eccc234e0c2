"""Hold the command line, one module a command."""
