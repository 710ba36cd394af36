"""Where the tests of a promised precision start: a share of the draws with a threshold."""
