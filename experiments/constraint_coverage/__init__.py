"""Whether new rows keep the bounds that optimize_thresholds promises."""
