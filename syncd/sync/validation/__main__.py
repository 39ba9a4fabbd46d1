"""``python -m syncd.sync.validation``: a worker process (see ``worker_process``)."""

from syncd.sync.validation.worker_process import main

main()
