"""An embeddable agent core with no ambient authority."""
