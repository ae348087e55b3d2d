"""Conversation history: messages, snapshots, handoff, compaction, token estimates."""
