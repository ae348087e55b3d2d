"""Textual widgets of the application."""
