"""syncd turns a folder of job feeds into live job postings and serves the job-posting HTTP API 1.1."""

__version__ = "0.1.0"
