"""A program: a worker runs the files of the feed ``acme``.

    worker_program.py URL FOLDER CONTENT

URL is the address of a store with the employer Acme Ltd. FOLDER has the drop folder. CONTENT is dropped first. At the end the
states of the runs, the names of what is left, and the reasons why the feed or the service waits are printed as JSON."""

import json
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

from syncd.domain import Catalogue
from syncd.feeds.configuration import FeedDefaults, parse_feed
from syncd.store import Store, employers, feeds
from syncd.sync.arrival import ArrivalContext, Worker
from syncd.sync.run import Feed, Host, Importer, RunContext


class SteppedHost(Host):
    """Its time is ``now``."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def main(url: str, folder: Path, content: str) -> None:
    host, catalogue = SteppedHost(), Catalogue.default()
    with Store.open(url, timezone=ZoneInfo("America/Toronto")) as store:
        employer = store.read(lambda tx: employers.find(tx, "Acme Ltd."))
        feed_id = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
        config = parse_feed("acme", 'employer = "Acme Ltd."', catalogue, FeedDefaults())
        feed = Feed(feed_id, config, employer, folder / "drop" / "acme")
        feed.folder.mkdir(parents=True, exist_ok=True)
        (feed.folder / "jobs.json").write_text(content)
        importer = Importer(RunContext(store, catalogue))
        worker = Worker(ArrivalContext(store, importer, host), {"acme": feed})
        states = []
        for _ in range(3):
            states += [run.state.value for run in worker.tick()]
            host.now += 100
        left = [
            path.name for place in (feed.folder, feed.folder / "done") for path in sorted(place.iterdir())
        ]
        print(json.dumps([states, left, worker.degraded, worker.waiting]))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
