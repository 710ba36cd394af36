"""How often a monitor of probabilities alarms, and how soon."""
