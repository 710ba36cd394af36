"""Many machines: an engine a module, on top of the adapters."""
