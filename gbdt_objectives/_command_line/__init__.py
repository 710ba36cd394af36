"""The commands of ``python -m gbdt_objectives``, each of which calls one public function."""
