"""What lies beside a run: the rows of its data files, and the folder of a checkpoint. Nothing that is pickled is opened."""
