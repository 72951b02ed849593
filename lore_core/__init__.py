"""LoRe Lens: see and fix the local miscalibration of classifiers."""
