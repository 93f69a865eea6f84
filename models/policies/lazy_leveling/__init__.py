"""Lazy leveling of the Dostoevsky paper. picker: the picker."""
