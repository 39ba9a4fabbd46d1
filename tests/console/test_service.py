"""What the page of the service shows, and what it hides."""

from dataclasses import replace

from syncd.config import SETTINGS, load_settings
from tests.console.conftest import TOKEN


async def test_the_service_says_how_it_is(browse, world):
    world.hold()
    browser = await browse()
    page = (await browser.get("/service"))[1]
    assert "1 feed needs somebody: acme waits for a decision" in page
    assert "1 held run" in page
    view = (await browser.json("/service"))[1]
    assert (view["health"]["ready"], view["health"]["well"]) == (True, False)
    assert view["queue"] == {"runs": {}, "held": 1, "writes": 0}
    assert view["store"]["jobs"] == {"active": 30, "archived": 0, "draft": 0}
    for path in ("/readyz", "/metrics"):
        assert f'href="{path}"' in page
        assert (await browser.get(path))[0] == 200


async def test_what_is_wrong_is_said_with_its_reason(browse, world):
    world.faults = {"store": "no answer within <3 s>", "clock": "the time moved by 3 hours"}
    browser = await browse()
    page = (await browser.get("/service"))[1]
    assert "<h1>The store cannot be used; no file is run, because the time is in doubt</h1>" in page
    assert "no answer within &lt;3 s&gt;" in page
    assert "the time moved by 3 hours" in page
    assert (await browser.json("/service"))[1]["health"]["ready"] is False


async def test_every_setting_is_shown_with_its_origin_and_no_secret(browse, world, tmp_path):
    file = tmp_path / "config" / "syncd.toml"
    file.write_text('[drop]\nrescan = "200ms"\n[sync.max_archive]\npercent = 12.5\njobs = 7\n')
    environ = {"SYNCD_OPERATOR__TOKEN": TOKEN, "SYNCD_LIMITS__RECORD": "2MiB", "SYNCD_API__RATE_LIMIT": "5"}
    world.settings = replace(load_settings(file, environ), base=tmp_path)
    browser = await browse()
    await browser.log_in()
    page = (await browser.get("/service"))[1]
    assert TOKEN not in page
    assert "sqlite:////" not in page
    view = (await browser.json("/service"))[1]
    assert TOKEN not in str(view)
    found = {setting["key"]: setting for setting in view["settings"]}
    assert list(found) == [setting.key for setting in SETTINGS]
    shown = {key: (found[key]["value"], found[key]["origin"]) for key in found}
    assert shown["sync.max_archive.percent"] == ("12.5", str(file))
    assert shown["limits.record"] == ("2MiB", "environment")
    assert shown["refresh.every"] == ("7d", "default")
    assert shown["operator.token"] == (None, "environment")
    assert (found["operator.token"]["given"], found["store.url"]["value"]) == (True, None)
