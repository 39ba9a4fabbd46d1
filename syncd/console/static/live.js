// Renews the parts of a page that changed, when the service says so. Without it the page works by reloading.
"use strict";
(() => {
  const AGAIN = 3000, TICK = 10000;
  const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];
  let source = null, busy = false, again = false, ahead = 0; // ahead: milliseconds of the service's clock before ours
  const main = () => document.querySelector("main[data-live]");

  function close() {
    if (source) source.close();
    source = null;
  }

  function open() {
    if (source || document.hidden || !main()) return;
    source = new EventSource(main().dataset.live);
    source.onmessage = renew;
    source.onerror = () => {
      if (!source || source.readyState !== EventSource.CLOSED) return; // the browser asks again by itself
      close();
      setTimeout(async () => { await renew(); open(); }, AGAIN);
    };
  }

  async function renew() {
    again = busy;
    if (busy) return;
    busy = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.redirected) {
        close();
        location.reload(); // the session has ended
      } else if (answer.ok) {
        show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      }
    } catch (error) {
      // the service is away; the stream comes back with it
    } finally {
      busy = false;
    }
    if (again) await renew();
  }

  function show(fresh) {
    const now = main(), next = fresh.querySelector("main[data-live]");
    if (!now || !next) return;
    const focused = mark(document.activeElement), sent = typed();
    const opened = new Map([...now.querySelectorAll("details")].map((part) => [title(part), part.open]));
    for (const part of next.querySelectorAll("details")) {
      if (opened.has(title(part))) part.open = opened.get(title(part));
    }
    const same = now.children.length === next.children.length;
    [...next.children].forEach((part, place) => {
      const old = same ? now.children[place] : null;
      if (old && old.outerHTML !== part.outerHTML) old.replaceWith(document.importNode(part, true));
    });
    if (!same) now.replaceChildren(...[...next.childNodes].map((part) => document.importNode(part, true)));
    now.dataset.live = next.dataset.live;
    now.dataset.now = next.dataset.now;
    compare();
    type(sent);
    document.title = fresh.title;
    if (window.htmx) window.htmx.process(now);
    if (focused && document.activeElement === document.body) {
      const found = [...now.querySelectorAll("a, button, summary, [tabindex]")].find((part) => mark(part) === focused);
      if (found) found.focus({ preventScroll: true });
    }
  }

  // What somebody has begun to write into a form stays, and so does the focus.
  function typed() {
    const fields = [...main().querySelectorAll("input[id]")].filter((field) => field.value !== field.defaultValue);
    const focus = document.activeElement && document.activeElement.id;
    return { values: fields.map((field) => [field.id, field.value]), focus: focus !== "main" && focus };
  }

  function type({ values, focus }) {
    for (const [id, value] of values) {
      const field = document.getElementById(id);
      if (field && field.value !== value) field.value = value;
    }
    const field = focus && document.getElementById(focus);
    if (field && field !== document.activeElement) field.focus({ preventScroll: true });
  }

  function compare() {
    ahead = Date.parse(main().dataset.now) - Date.now();
  }

  // Relative times, in the words of the service.
  function tick() {
    if (document.hidden || !main()) return;
    for (const part of main().querySelectorAll("time[data-relative]")) {
      const past = (Date.now() + ahead - Date.parse(part.dateTime)) / 1000;
      part.textContent = past >= 0 ? `${duration(past)} ago` : `in ${duration(-past)}`;
    }
  }

  function duration(seconds) {
    for (const [size, name] of UNITS) {
      const count = Math.floor(seconds / size);
      if (count >= 1) return `${count.toLocaleString("en")} ${name}${count === 1 ? "" : "s"}`;
    }
    return `${Math.floor(seconds)} s`;
  }

  function title(part) {
    const summary = part.querySelector("summary");
    return summary ? summary.textContent.replace(/[\d,]+/g, "") : "";
  }

  function mark(part) {
    return part && part !== document.body ? part.tagName + (part.getAttribute("href") || part.textContent) : null;
  }

  if (main()) compare();
  setInterval(tick, TICK);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    tick();
    open();
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
})();
