"""From the bytes of a feed to job bodies: its format, its records, its mapping. Nothing here knows a store or HTTP.

Beside the packages, ``configuration`` reads the files of feeds, ``source`` the table there that says where files are fetched,
``source_address`` the addresses in it, and ``export`` writes jobs as feeds."""
