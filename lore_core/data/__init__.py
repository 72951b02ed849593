"""Rows and what every part shares: datasets, checked arrays, confidence bins, probabilities."""
