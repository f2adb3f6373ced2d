"""What any program needs of its machine: files, streams, processes."""
