"""The scope of paths a tool may name: resolve once, revalidate just before I/O (section F).

Every call does blocking file-system work: run it off the event loop.
"""
