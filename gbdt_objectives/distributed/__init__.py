"""Exact sums over workers: the only thing that distributed training changes."""

from gbdt_objectives.distributed.reduction import sum_over_workers, workers

__all__ = ["sum_over_workers", "workers"]
