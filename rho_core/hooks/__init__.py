"""Lifecycle hooks: envelopes, the pre-tool gate and dispatch."""
