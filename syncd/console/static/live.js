// Renews the parts of a page that changed, when the service says so. Without it the page works by reloading.
"use strict";
(() => {
  const AGAIN = 3000;
  let source = null, busy = false, again = false;
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
    const focused = mark(document.activeElement);
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
    document.title = fresh.title;
    if (window.htmx) window.htmx.process(now);
    if (focused && document.activeElement === document.body) {
      const found = [...now.querySelectorAll("a, button, summary, [tabindex]")].find((part) => mark(part) === focused);
      if (found) found.focus({ preventScroll: true });
    }
  }

  function title(part) {
    const summary = part.querySelector("summary");
    return summary ? summary.textContent.replace(/[\d,]+/g, "") : "";
  }

  function mark(part) {
    return part && part !== document.body ? part.tagName + (part.getAttribute("href") || part.textContent) : null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
})();
