"""How exact elementary functions are."""
