"""What makes a CPU fast, and what no chapter is about."""
