"""Growth of a store over months: grow (request, answer), windows (times and configurations), measured (their numbers)."""
