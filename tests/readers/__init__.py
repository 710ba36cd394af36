"""Files that were changed at random: each is refused in words, or means what it says."""
