"""What the experiments share: their translators and tasks, their runner."""
