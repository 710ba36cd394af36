"""Rules for classes without order, and class weights in training."""
