"""What chance makes of calibration metrics: tests, simulations, intervals, resampling."""
