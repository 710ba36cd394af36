"""Whether calibration ratios and errors say truly how uncertain they are."""
