"""From the bytes of a feed to job bodies: detect, read, map. Knows no store and no HTTP."""
