"""Five bags on sampled negatives that calibrate themselves, against one."""
