"""Stored sessions: one append-only file of records each, one writer at a time.

`records` says what is kept, `record_codec` how a line looks, `file` writes and reads lines,
`lease` keeps the second writer out, `index` lists sessions, `recovery` turns a file back into a
snapshot for the core and a list of facts for the screen.
"""
