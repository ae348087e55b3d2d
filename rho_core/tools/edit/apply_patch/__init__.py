"""The `apply_patch` tool: files added, removed, changed and moved by one patch (section 12)."""
