"""Rho in a terminal: the host of `rho_core` and the Textual app in front of it."""
