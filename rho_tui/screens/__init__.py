"""Full screens of the application."""
