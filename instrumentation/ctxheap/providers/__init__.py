"""Turn the wire formats of model providers into parts and usage."""
