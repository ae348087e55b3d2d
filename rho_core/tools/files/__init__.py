"""What the file tools share: paths, text with its encoding, views, diffs, locks and replacement."""
