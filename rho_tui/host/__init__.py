"""The duties of a host: configuration, credentials, prompt, permissions, sessions."""
