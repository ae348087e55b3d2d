"""The built-in demo: an offline, rule-based stand-in for a model, for trying Rho in a minute."""

from rho_core.providers.demo.provider import DEMO_IDENTITY, DemoProvider

__all__ = ["DEMO_IDENTITY", "DemoProvider"]
