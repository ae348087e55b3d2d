"""Figures of the whole program, each a ratio to a floor that is measured in the same run."""
