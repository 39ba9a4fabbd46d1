"""One file's journey from the drop folder to a reconciled set of jobs, and what the service does by the clock."""
