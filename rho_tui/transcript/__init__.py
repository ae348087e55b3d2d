"""Events and stored history turned into what a person sees, without Textual widgets."""
