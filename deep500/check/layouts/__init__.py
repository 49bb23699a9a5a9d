"""Trains a recipe in several layouts, and says where the first of them parts from the others."""
