"""Side by side with other toolkits: speed and memory, as ratios."""
