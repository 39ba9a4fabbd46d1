"""From the bytes of a feed to job bodies: find out what it is, read it, map it. Nothing here knows a store or HTTP."""
