"""Who acts on the service: partners drop files, clients send requests, operators give commands. Each method that a schedule
may name is a step."""

import os
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from syncd.domain import Actor, ActorKind, check_body
from syncd.errors import Conflict, FeedError, NotFound, StoreError, UnusableFolder
from syncd.store import Store, feeds
from syncd.store.jobs import upsert
from syncd.sync.arrival import ArrivalContext, decide, revert
from syncd.sync.run import Stopped
from tests.simulation.contents import IMPORTED, Short, ShortRow, body_of, content_of
from tests.simulation.engine import CATALOGUE
from tests.simulation.layer import Process
from tests.simulation.scene import Scene
from tests.simulation.service import Service
from tests.sync.board import FakeHost

_KEY = Actor(ActorKind.KEY, 1)
#: How often a command in the middle of the service's work asks whether to stop, before a person stops it.
_QUESTIONS = 40


class Partners:
    """They may do anything in the folders of their feeds."""

    def __init__(self, scene: Scene, service: Service) -> None:
        self._scene, self._service = scene, service
        self._writing: dict[tuple[str, str], tuple[int, bytes]] = {}

    def path(self, feed: str, name: str) -> Path:
        return self._scene.engine.drop / feed / name

    def drop(self, feed: str, name: str, short: Short, way: str) -> None:
        """Put a file into the feed's folder: ``write`` it, ``rename`` it into place, or begin to write it (``slow``)."""
        content, path = content_of(short, self._scene.clock.today), self.path(feed, name)
        self._scene.ledger.know(content)
        self.finish(feed, name)
        if way == "rename":
            written = path.with_name(name + ".part")
            written.write_bytes(content.data)
            self._date(written)
            self._scene.ledger.gone(path)
            written.rename(path)
        elif (
            way == "slow" and not path.with_name(name + ".done").exists()
        ):  # a marker says that it is complete
            self.remove(feed, name)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
            half = len(content.data) // 2
            os.write(descriptor, content.data[:half])
            self._writing[feed, name] = descriptor, content.data[half:]
        else:
            self._scene.ledger.gone(path)
            path.write_bytes(content.data)
            self._date(path)
        self._scene.ledger.delivered(feed, path)
        self._service.hint()

    def finish(self, feed: str, name: str) -> None:
        descriptor, rest = self._writing.pop((feed, name), (None, b""))
        if descriptor is not None:
            os.write(descriptor, rest)
            os.close(descriptor)
            if self.path(feed, name).exists():
                self._date(self.path(feed, name))
                self._scene.ledger.delivered(feed, self.path(feed, name))
            self._service.hint()

    def remove(self, feed: str, name: str) -> None:
        self._scene.ledger.gone(self.path(feed, name))
        self.path(feed, name).unlink(missing_ok=True)
        self._service.hint()

    def marker(self, feed: str, name: str) -> None:
        if (feed, name) not in self._writing:
            self.path(feed, f"{name}.done").touch()
            self._service.hint()

    def finish_all(self) -> None:
        for feed, name in list(self._writing):
            self.finish(feed, name)
        marked = self._scene.engine.drop / "marked"
        for path in marked.iterdir() if marked.exists() else ():
            if path.is_file() and not path.name.endswith((".done", ".part")):
                self.marker("marked", path.name)

    def close(self) -> None:
        for descriptor, _rest in self._writing.values():
            os.close(descriptor)

    def _date(self, path: Path) -> None:
        """Give the file the time of the simulated clock."""
        now = self._scene.layer.time()
        os.utime(path, ns=(now, now))


class Clients:
    """They send requests to the API."""

    def __init__(self, scene: Scene, service: Service) -> None:
        self._scene, self._service = scene, service

    def put(self, row: ShortRow) -> None:
        self._put(body_of(row, self._scene.clock.today))

    def edit(self, reference: str, changes: dict[str, Any]) -> None:
        body = {"referenceId": reference, **changes}
        if isinstance(body.get("closeDate"), int):
            body["closeDate"] = str(self._scene.clock.today + timedelta(body["closeDate"]))
        self._put(body)

    def _put(self, body: dict[str, Any]) -> None:
        def put(store: Store) -> None:
            sent = check_body(body, CATALOGUE)
            store.write(lambda tx: upsert.put(tx, self._scene.ledger.employer, sent, _KEY))

        self._send(put, body["referenceId"], lambda side: side.put(dict(body)), f"PUT {body}")

    def delete(self, reference: str) -> None:
        def delete(store: Store) -> None:
            store.write(lambda tx: upsert.delete_reference(tx, self._scene.ledger.employer, reference, _KEY))

        self._send(delete, reference, lambda side: side.erase(), "DELETE")

    def _send(
        self, work: Callable[[Store], None], reference: str, law: Callable[[Any], int], what: str
    ) -> None:
        if self._service.answers:
            self._scene.look()
            answered = self._service.serve(work)
            self._scene.ledger.request(reference, law, answered, what)


class Operators:
    """They give commands beside the service. ``interrupts``: whether a command has to be stopped that waits too long."""

    def __init__(self, scene: Scene, service: Service, interrupts: Callable[[], bool]) -> None:
        self._scene, self._service, self._interrupts = scene, service, interrupts

    def decide(self, feed: str, *, approves: bool) -> None:
        """``syncd runs approve`` or ``reject``, for the newest held run of the feed."""
        scene = self._scene
        scene.look()
        held = scene.ledger.held(feed)
        if held is None:
            return

        def give(store: Store) -> None:
            known = scene.engine.feeds(store)
            importer = scene.engine.importer(store, lambda: False)
            number, drop = held.run.id, scene.engine.drop
            context = ArrivalContext(store, importer, FakeHost(sleep=self._waiting()))
            decide(context, drop, number, known[feed], approved=approves)

        with scene.ledger.decision(held, approves=approves):
            self._command("approve" if approves else "reject", give)

    def bring(self, feed: str, short: Short) -> None:
        """``syncd import``."""
        scene = self._scene
        content = content_of(short, scene.clock.today)
        scene.ledger.know(content)
        path = scene.engine.drop.parent / f"{IMPORTED}{scene.layer.calls}.dat"
        path.write_bytes(content.data)
        now = scene.layer.time()
        os.utime(path, ns=(now, now))
        interrupted = self._interrupted()

        def bring(store: Store) -> None:
            known = scene.engine.feeds(store)
            scene.engine.worker(store, known, interrupted).import_file(known[feed], path)

        scene.ledger.imported()
        self._command("import", bring)

    def revert(self, feed: str, back: int) -> None:
        """``syncd runs revert --yes``, for one of the feed's runs."""
        number, drop = self._scene.ledger.ended_run(feed, back), self._scene.engine.drop

        def revert_it(store: Store) -> None:
            known = self._scene.engine.feeds(store)
            importer = self._scene.engine.importer(store, lambda: False)
            context = ArrivalContext(store, importer, FakeHost(sleep=self._waiting()))
            revert(context, drop, number or 0, known[feed].config.policy, yes=True)

        if number is not None:
            self._command("revert", revert_it)

    def again(self, feed: str, back: int) -> None:
        """``syncd runs again``."""
        number, interrupted = self._scene.ledger.ended_run(feed, back), self._interrupted()

        def run_again(store: Store) -> None:
            known = self._scene.engine.feeds(store)
            self._scene.engine.worker(store, known, interrupted).run_again(known[feed], number or 0)

        if number is not None:
            self._scene.ledger.imported()
            self._command("again", run_again)

    def pause(self, feed: str) -> None:
        """``syncd feed pause``."""
        self._command("pause", lambda store: store.write(lambda tx: feeds.pause(tx, feed, "")))

    def resume(self, feed: str) -> None:
        """``syncd feed resume``."""
        self._command("resume", lambda store: store.write(lambda tx: feeds.resume(tx, feed)))

    def _waiting(self) -> Callable[[float], None]:
        """Return what a command calls while it waits: a person stops it in the end."""
        asked = 0

        def wait(_seconds: float) -> None:
            nonlocal asked
            asked += 1
            if asked > _QUESTIONS and self._interrupts():
                raise Stopped("a person stopped the command")

        return wait

    def _interrupted(self) -> Callable[[], bool]:
        """Return what a worker of a command asks whether to stop."""
        wait = self._waiting()

        def interrupted() -> bool:
            wait(0.0)
            return False

        return interrupted

    def _command(self, name: str, work: Callable[[Store], None]) -> bool:
        """Run a command. Return whether it did its work."""
        process, done = Process(name), False
        self._scene.ledger.commands += 1
        try:
            with self._service.inside(process), self._scene.engine.open_store() as store:
                work(store)
                done = True
        except (
            Stopped,
            Conflict,
            NotFound,
            UnusableFolder,
            FeedError,
            StoreError,
            OSError,
            sqlite3.Error,
        ) as error:
            self._scene.expected(error)
        self._scene.ledger.commands -= 1
        self._service.bury(process)
        return done
