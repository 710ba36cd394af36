"""Validation of arguments: reject with a clear error, never repair.

Every function returns the argument in the form the maths wants, or raises ``TypeError`` or
``ValueError`` with a message that names the argument, the value found and what to do.
"""

from gbdt_objectives._checks import guards  # which nobody calls: the values ask them
from gbdt_objectives._checks.arrays import *
from gbdt_objectives._checks.asked import *
from gbdt_objectives._checks.tables import (
    check_groups as check_groups,
    distinct_groups as distinct_groups,
    distinct_segments as distinct_segments,
    group_numbers as group_numbers,
    not_spelled_missing as not_spelled_missing,
    number_values as number_values,
    warn_of_code as warn_of_code,
    warn_of_other_labels as warn_of_other_labels,
)
from gbdt_objectives._checks.users import *
from gbdt_objectives._checks.values import *
