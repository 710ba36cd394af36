"""The commands of ``python -m gbdt_objectives``: files in, one public function, files out."""
