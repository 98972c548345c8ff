"""One file a command: options, one library call, print."""
