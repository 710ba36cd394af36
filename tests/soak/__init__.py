"""Long runs, many threads, killed workers: python -m tests.soak [PART...] [--quick]

A part is a module here, with ``run(quick)``, which yields what it found beside what is promised.
"""
