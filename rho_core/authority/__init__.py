"""What a tool may touch: workspace, capabilities, policy, approvals, audit."""
