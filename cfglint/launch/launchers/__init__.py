"""The commands that start trainings: each module here has the records of one tool, in `LAUNCHERS`."""
