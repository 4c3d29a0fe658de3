"""What several programs' formats share. The native format is pi's; oh-my-pi adds to it."""
