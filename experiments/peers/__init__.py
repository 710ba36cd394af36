"""Other packages on their own ground, beside ours."""
