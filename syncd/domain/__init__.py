"""The rules of job postings and of reconciliation. Pure: no I/O, no clock, no SQL, no HTTP."""
