"""Growth of a store over months: grow (request, answer, numbers of a window), windows (times and configurations)."""
