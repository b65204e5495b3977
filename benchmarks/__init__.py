"""Side by side with a peer in the same run: every figure is a ratio, never a time."""
