"""What the notebooks need, and nothing else."""
