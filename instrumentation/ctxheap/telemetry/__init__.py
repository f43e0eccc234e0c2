"""Turn captured calls into OpenTelemetry spans and metrics."""
