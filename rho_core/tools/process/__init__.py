"""Background processes: start one, read its output with a cursor, stop it (section 17)."""
