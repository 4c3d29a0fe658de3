"""Code shared by several formats. The native format is pi's; oh-my-pi extends it."""
