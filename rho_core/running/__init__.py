"""What one run is made of: attempts at the provider, commands, history in flight, commits."""
