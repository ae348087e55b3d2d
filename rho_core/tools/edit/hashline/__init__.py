"""The `edit` tool: changes addressed by line numbers, guarded by a tag of the file (section 10)."""
