"""Connections to services with buckets: S3, Google Cloud Storage and Azure. Each goes to an address that the guard has checked;
the packages are imported when they are needed."""

import json
import re
import ssl
from asyncio import to_thread
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any

import aiohttp

from syncd.feeds.source import Request
from syncd.sources.guard import Guard
from syncd.sources.places import Entry, Place, Server, entry
from syncd.sources.results import SourceError, Times, refused
from syncd.sources.threads import in_thread

#: The addresses of Google's and Azure's services. They are given to the packages, which would take others from variables of the
#: environment and from the text of a key.
GOOGLE, GOOGLE_TOKENS = "https://storage.googleapis.com", "https://oauth2.googleapis.com/token"
GOOGLE_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
AZURE = "https://{account}.blob.core.windows.net"
_AZURE_ACCOUNT = re.compile("[a-z0-9]{3,24}")
#: Bytes of one read of an object in a bucket: each is a request.
OBJECT_CHUNK = 1 << 20


# -- S3 --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def s3(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    s3fs: Any = await to_thread(import_module, "s3fs")
    if place.endpoint:
        guard.check_literal(place.host)
    config = {
        "connect_timeout": times.connect,
        "read_timeout": times.silence,
        "retries": {"total_max_attempts": 1},
        "ignore_configured_endpoint_urls": True,
        "proxies": {},
        "s3": {"addressing_style": "path" if place.endpoint else "auto"},
        "connector_args": {"resolver": guard, "use_dns_cache": False},
    }
    authorities = ssl.get_default_verify_paths().cafile or True  # not those that botocore has
    files = s3fs.S3FileSystem(
        asynchronous=True,
        anon=request.username is None,
        key=request.username,
        secret=request.password or None,
        endpoint_url=place.endpoint,
        config_kwargs=config,
        client_kwargs={"verify": authorities},
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    files.retries = 1  # tries are those of the turn
    session = await files.set_session()
    try:
        yield Objects(files)
    finally:
        await session.close()


# -- Google Cloud Storage --------------------------------------------------------------------------------------


@asynccontextmanager
async def gs(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    core: Any = await to_thread(import_module, "gcsfs.core")
    # not the class of the face, which asks for the kind of a bucket by gRPC, where no guard is
    files = core.GCSFileSystem(
        asynchronous=True,
        token="anon" if request.key is None else _service_account(request.key),
        endpoint_url=GOOGLE,
        session_kwargs={
            "connector": aiohttp.TCPConnector(resolver=guard, use_dns_cache=False),
            "raise_for_status": _raise_for_status,
        },
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    files._request = partial(core.GCSFileSystem._request.__wrapped__, files)  # tries are those of the turn
    await in_thread(files.credentials.maybe_refresh)  # a token is for longer than a fetch
    async with await files._set_session():
        yield Objects(files)


def _service_account(key: str) -> Any:
    """Return the credentials of a key. Other kinds of JSON that Google has name files and addresses that would be read."""
    kind: Any = import_module("google.oauth2.service_account").Credentials
    ours = {"token_uri": GOOGLE_TOKENS, "universe_domain": "googleapis.com"}
    try:
        return kind.from_service_account_info({**json.loads(key), **ours}, scopes=[GOOGLE_SCOPE])
    except (ValueError, TypeError, AttributeError):
        raise SourceError("key is not the JSON of a service account") from None


async def _raise_for_status(response: aiohttp.ClientResponse) -> None:
    if response.status >= 400 and response.status != 404:  # by which gcsfs finds out that there is a folder
        raise refused(response.status)


# -- both ------------------------------------------------------------------------------------------------------


class Objects:
    """Objects in a bucket, by a file system of fsspec."""

    def __init__(self, files: Any) -> None:
        self._files = files

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        try:
            infos = await self._files._ls(folder, detail=True)
        except FileNotFoundError as error:
            if error.__cause__ is not None:  # there is no bucket
                raise
            infos = []
        objects = [_object(info) for info in infos if info["type"] == "file"]
        return [each for each in objects if wanted(each.name)]

    async def entry(self, folder: str, name: str) -> Entry:
        info = await self._files._info(f"{folder}/{name}")
        if info["type"] != "file":
            raise FileNotFoundError
        return _object(info)

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        for start in range(0, size, OBJECT_CHUNK):
            yield await self._files._cat_file(path, start=start, end=min(start + OBJECT_CHUNK, size))

    async def remove(self, path: str) -> None:
        await self._files._rm_file(path)


def _object(info: Mapping[str, Any]) -> Entry:
    date = next((info[name] for name in ("LastModified", "updated", "last_modified") if info.get(name)), "")
    name = info["name"].rstrip("/").rpartition("/")[2]
    return entry(name, info["size"], date, info.get("ETag") or info.get("etag"))


# -- Azure -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def az(request: Request, place: Place, guard: Guard, times: Times) -> AsyncIterator[Server]:
    account, key = request.username or "", request.password or ""
    if not _AZURE_ACCOUNT.fullmatch(account):
        raise SourceError("username is not the name of a storage account: 3 to 24 small letters and digits")
    blobs: Any = await to_thread(import_module, "azure.storage.blob.aio")
    transports: Any = await to_thread(import_module, "azure.core.pipeline.transport")
    connector = aiohttp.TCPConnector(resolver=guard, use_dns_cache=False)
    container = blobs.ContainerClient(
        AZURE.format(account=account),
        place.netloc,
        {"account_name": account, "account_key": key} if key else None,
        transport=transports.AioHttpTransport(session=aiohttp.ClientSession(connector=connector)),
        connection_timeout=times.connect,
        read_timeout=times.silence,
        retry_total=0,  # tries are those of the turn
    )
    async with container:
        yield Container(container, place)


class Container:
    """A container of Azure. ``place``: its name is the first part of each path."""

    def __init__(self, client: Any, place: Place) -> None:
        self._client, self._above = client, f"{place.netloc}/"

    def _name(self, path: str) -> str:
        return f"{path}/".removeprefix(self._above).strip("/")

    async def entries(self, folder: str, wanted: Callable[[str], bool]) -> list[Entry]:
        above = self._name(folder)
        listed = self._client.walk_blobs(name_starts_with=f"{above}/" if above else None, delimiter="/")
        blobs = [_blob(each) async for each in listed if hasattr(each, "size")]
        return [each for each in blobs if wanted(each.name)]

    async def entry(self, folder: str, name: str) -> Entry:
        path = self._name(f"{folder}/{name}")
        return _blob(await self._client.get_blob_client(path).get_blob_properties())

    async def read(self, path: str, size: int) -> AsyncGenerator[bytes, None]:
        blob = self._client.get_blob_client(self._name(path))
        for start in range(0, size, OBJECT_CHUNK):
            piece = await blob.download_blob(start, min(OBJECT_CHUNK, size - start))
            yield await piece.readall()

    async def remove(self, path: str) -> None:
        await self._client.delete_blob(self._name(path))


def _blob(blob: Any) -> Entry:
    tag = (blob.etag or "").strip('"')  # in a list it has no quotation marks
    return entry(blob.name.rpartition("/")[2], blob.size, blob.last_modified, tag)
