"""The command line: it parses, makes one library call, prints."""
