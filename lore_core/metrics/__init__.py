"""What is measured: global and local calibration errors, bandwidth curves, rewards."""
