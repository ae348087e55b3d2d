"""Finding files and text: a bounded walk that honours ignore rules, `glob` and `grep`."""
