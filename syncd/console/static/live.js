// Changes an open page where it differs from the one that htmx has just asked for. Without it the page works by reloading.
"use strict";
(() => {
  const TICK = 10000;
  const UNITS = [[86400, "day"], [3600, "hour"], [60, "minute"]];
  let ahead = 0, answered = 0, failures = 0; // ahead: milliseconds of the service's clock before ours
  const main = () => document.querySelector("main[data-etag]");

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target !== main()) return;
    if (document.hidden) event.preventDefault();
    else event.detail.headers["If-None-Match"] = main().dataset.etag;
  });

  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== main()) return;
    if (event.detail.xhr.status === 404) return location.reload(); // it says that the thing is gone
    const lost = document.getElementById("lost");
    if (event.detail.successful) answered = Date.now() + ahead;
    failures = event.detail.successful ? 0 : failures + 1; // a single one may be that of a page that is being left
    lost.hidden = failures < 2;
    lost.querySelector("time").dateTime = new Date(answered).toISOString();
    tick();
  });

  htmx.defineExtension("live", {
    handleSwap(_style, now, fragment) {
      const fresh = fragment.firstElementChild, focused = document.activeElement;
      if (!fresh?.dataset.etag) {
        location.reload(); // it is another page: the session has ended
        return [now];
      }
      renewChildren(now, fresh);
      Object.assign(now.dataset, fresh.dataset);
      compare();
      const link = !focused.isConnected && focused.getAttribute("href");
      if (link) now.querySelector(`[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
      return [now];
    },
  });

  // A part that is there already stays, and with it the focus, what somebody has written, and what is open.
  function renewChildren(old, fresh) {
    let place = old.firstChild;
    for (const part of [...fresh.childNodes]) {
      let same = place;
      while (same && !isSame(same, part)) same = name(part) || !name(same) ? same.nextSibling : null;
      if (!same) {
        old.insertBefore(part, place);
        continue;
      }
      while (place !== same) place = removed(place);
      renew(same, part);
      place = same.nextSibling;
    }
    while (place) place = removed(place);
  }

  function renew(old, fresh) {
    if (old.isEqualNode(fresh)) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      old.data = fresh.data;
      return;
    }
    for (const { name } of [...old.attributes]) if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (name !== "open") old.setAttribute(name, value);
    renewChildren(old, fresh);
  }

  function removed(part) {
    const next = part.nextSibling;
    part.remove();
    return next;
  }

  function isSame(one, other) {
    return one.nodeName === other.nodeName && name(one) === name(other);
  }

  // What a part is about, without its numbers; "" if it does not say so.
  function name(part) {
    if (part.nodeType !== Node.ELEMENT_NODE) return "";
    const inside = /^(TR|LI)$/.test(part.nodeName) ? "a[href]" : "h2, summary";
    const says = part.matches("a, h2, summary") ? part : part.querySelector(inside);
    return part.id || (says && (says.href || says.textContent.replace(/[\d,]+/g, ""))) || "";
  }

  function compare() {
    ahead = Date.parse(main().dataset.now) - Date.now();
  }

  // Relative times, in the words of the service.
  function tick() {
    if (document.hidden) return;
    for (const part of document.querySelectorAll("time[data-relative]")) {
      const past = (Date.now() + ahead - Date.parse(part.dateTime)) / 1000;
      part.textContent = past >= 0 ? `${duration(past)} ago` : `in ${duration(-past)}`;
    }
  }

  function duration(seconds) {
    for (const [size, unit] of UNITS) {
      const count = Math.floor(seconds / size);
      if (count >= 1) return `${count.toLocaleString("en")} ${unit}${count === 1 ? "" : "s"}`;
    }
    return `${Math.floor(seconds)} s`;
  }

  compare();
  answered = Date.now() + ahead;
  setInterval(tick, TICK);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !main()) return;
    tick();
    htmx.trigger(main(), "renew");
  });
})();
