"""How tools are declared, prepared, scheduled and run."""
