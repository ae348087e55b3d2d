"""The shell: one supervised command at a time, with nothing left behind (section 16)."""
