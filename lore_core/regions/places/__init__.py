"""Places where the confidence is worse than on average, in words and on the map; the verdict."""
