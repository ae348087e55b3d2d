"""The edit surfaces; a run registers exactly one of them (1.3)."""
