// What the pages do beyond HTML: they follow what happens, take keys, and copy commands. Without this nothing is lost.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const told = document.getElementById("told");
  const tell = (text) => { if (told) told.textContent = text; };

  // Times and lengths, in the words of the server.
  const UNITS = [[86400000, "d"], [3600000, "h"], [60000, "min"], [1000, "s"]];
  const ago = (ms) => {
    const unit = UNITS.find(([length]) => ms >= length);
    return unit ? `${Math.floor(ms / unit[0])} ${unit[1]} ago` : "just now";
  };
  const span = (ms) => {
    const [length, name] = UNITS.find(([length]) => ms >= length) || UNITS[3];
    const count = ms / length;
    return `${count < 10 ? Math.round(count * 10) / 10 : Math.round(count)} ${name}`;
  };
  // The server's clock may not be ours: ages are counted on from what the page said.
  const begin = (time) => {
    if (!time.dataset.begin) {
      const said = /^(\d+) (d|h|min|s) ago$/.exec(time.textContent);
      const age = said ? said[1] * UNITS.find(([, name]) => name === said[2])[0] : 0;
      time.dataset.begin = String(Date.now() - age);
    }
    return Number(time.dataset.begin);
  };
  const tick = () => all("time[data-ago]").forEach((time) => {
    const words = ago(Date.now() - begin(time));
    if (time.textContent !== words) time.textContent = words;
  });

  // Commands can be copied where the browser lets a page do that.
  const enhance = (within) => {
    if (navigator.clipboard) {
      all("code.command", within).forEach((code) => {
        if (code.nextElementSibling?.matches("button.copy")) return;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "copy";
        button.textContent = "Copy";
        button.setAttribute("aria-label", `Copy: ${code.textContent}`);
        button.addEventListener("click", async () => {
          try { await navigator.clipboard.writeText(code.textContent); } catch { return; }
          button.textContent = "Copied";
          tell("Copied");
          setTimeout(() => { button.textContent = "Copy"; }, 1500);
        });
        code.after(button);
      });
    }
    all("details[data-keep]", within).forEach((details) => {
      const key = `${location.pathname} ${details.dataset.keep}`;
      const kept = sessionStorage.getItem(key);
      if (kept) details.open = kept === "open";
      details.addEventListener("toggle", () => sessionStorage.setItem(key, details.open ? "open" : "closed"));
    });
    all("time[data-ago]", within).forEach(begin);
  };

  // A part of the page as it is compared: without what differs each time it is written, and without what was added here.
  const essence = (element) => {
    const copy = element.cloneNode(true);
    all("input[name=once], input[name=csrf], button.copy", copy).forEach((found) => found.remove());
    all("time[data-ago], [data-step], .budget", copy).forEach((found) => { found.textContent = ""; });
    all("*", copy).concat(copy).forEach((found) => {
      found.removeAttribute("data-begin");
      found.classList.remove("fresh");
      if (!found.className) found.removeAttribute("class");
      if (found.matches("details")) found.removeAttribute("open");
    });
    return copy.outerHTML;
  };
  // Whether somebody is in the middle of something there.
  const busy = (element) => {
    const active = document.activeElement;
    if (active && active !== document.body && element.contains(active) && !active.matches("h1")) return true;
    const selection = getSelection();
    if (selection && !selection.isCollapsed && element.contains(selection.anchorNode)) return true;
    if (element.querySelector("details.act[open]")) return true;
    return all("input:not([type=hidden]), textarea", element).some((field) => field.value !== field.defaultValue)
      || all("option", element).some((option) => option.selected !== option.defaultSelected && option.closest("details[open]"));
  };
  let waiting = false;
  let under = false;
  const refresh = async () => {
    if (document.hidden || under) { waiting = true; return; }
    waiting = false;
    under = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { "azolla-live": "1" } });
      // What is half typed here stays: a form that is sent now asks to log in, and comes back.
      if (answer.status === 401) { tell("You are logged out"); return; }
      if (answer.ok) patch(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* The next change tries again. */ } finally { under = false; }
  };
  const patch = (fresh) => {
    const changed = [];
    const pairs = all("[data-live]").map((old) => [old, fresh.querySelector(`[data-live="${old.dataset.live}"]`)])
      .filter(([old, next]) => next && essence(old) !== essence(next));
    // Parts that belong together are replaced together or not at all: a button is about what is shown beside it.
    const held = new Set(pairs.filter(([old]) => busy(old)).map(([old]) => old.dataset.together || old.dataset.live));
    pairs.forEach(([old, next]) => {
      if (held.has(old.dataset.together || old.dataset.live)) { waiting = true; return; }
      const part = document.importNode(next, true);
      old.replaceWith(part);
      enhance(part);
      part.classList.add("fresh");
      const heading = part.querySelector("h1, h2");
      changed.push(heading ? heading.textContent.trim() : part.dataset.live);
    });
    if (changed.length) { document.title = fresh.title; tell(`Changed: ${changed.join(", ")}`); }
  };
  // What is under way goes on between two events: a bar is moved from when its step began.
  const bars = () => all("[data-step]").forEach((place) => {
    const budget = place.closest("li, .running")?.querySelector(".budget");
    const bar = budget?.querySelector("progress");
    if (!bar) return;
    bar.dataset.since ||= String(Date.now() - bar.value);
    const used = Math.max(0, Date.now() - Number(bar.dataset.since));
    bar.value = Math.min(used, bar.max);
    budget.lastElementChild.textContent = `${span(used)} of ${span(bar.max)}`;
  });
  const steps = (list) => all("[data-step]").forEach((place) => {
    const found = list.find((step) => `${step.azolla_id} ${step.objective_id}` === place.dataset.step);
    place.textContent = found ? [found.step, found.detail].filter(Boolean).join(", ") : "";
    const bar = place.closest("li, .running")?.querySelector(".budget progress");
    if (!found || !bar || !found.limit_ms) return;
    bar.max = found.limit_ms;
    bar.dataset.since = String(Date.now() - found.elapsed_ms);
    bars();
  });
  if (document.querySelector("[data-live]") && document.body.dataset.mark && window.EventSource) {
    // It says where this page was, and after a gap where it was last: nothing is missed.
    let mark = document.body.dataset.mark;
    let events;
    let later;
    let again;
    let failed = 0;
    const soon = () => { clearTimeout(later); later = setTimeout(refresh, 250); };
    // A browser has few connections to one server: a page that nobody sees holds none.
    const listen = () => {
      if (document.hidden) { events?.close(); events = undefined; return; }
      if (waiting) soon();
      if (events) return;
      clearTimeout(again);
      const source = events = new EventSource(`/events?since=${encodeURIComponent(mark)}`);
      events.addEventListener("open", () => { if (failed) tell("This page follows changes again"); failed = 0; });
      // A connection that breaks is made again by the browser. One that was refused is not: that is up to us.
      events.addEventListener("error", () => {
        if (events !== source || source.readyState !== EventSource.CLOSED) return;
        events = undefined;
        if (!failed) tell("This page does not follow changes now; it tries again");
        again = setTimeout(listen, Math.min(60000, 1000 * 2 ** failed));
        failed += 1;
      });
      events.addEventListener("change", (event) => { mark = event.lastEventId || mark; soon(); });
      events.addEventListener("step", (event) => { try { steps(JSON.parse(event.data)); } catch { /* Not for us. */ } });
    };
    listen();
    document.addEventListener("visibilitychange", listen);
    addEventListener("pagehide", () => { events?.close(); events = undefined; });
    addEventListener("pageshow", listen);
    document.addEventListener("focusout", () => { if (waiting) soon(); });
  }

  // Keys. None of them takes an act: they go to its button or open its form.
  const dialog = document.getElementById("keys");
  const on = document.getElementById("keys-on");
  const stored = () => { try { return localStorage.getItem("keys"); } catch { return null; } };
  if (on) {
    on.checked = stored() !== "off";
    on.addEventListener("change", () => { try { localStorage.setItem("keys", on.checked ? "on" : "off"); } catch { /* For this page alone. */ } });
  }
  const hint = document.getElementById("keys-hint");
  if (hint && dialog) { hint.hidden = false; hint.firstElementChild.addEventListener("click", () => dialog.showModal()); }
  const visible = (element) => element.getClientRects().length > 0;
  const move = (by) => {
    const rows = all("main a.row, main .need h2 a, main .rows > li > .split > a, main .cards > li > .acts summary.main, main .file > summary").filter(visible);
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  const reach = (key) => {
    const near = document.activeElement?.closest(".cards > li");
    const found = near?.querySelector(`[data-key="${key}"]`) || document.querySelector(`[data-key="${key}"]`);
    if (!found) return false;
    const details = found.closest("details.act");
    if (details) details.open = true;
    if (found.matches("a")) { found.click(); document.querySelector(`${found.hash} input:not([type=hidden])`)?.focus(); return true; }
    const field = found.matches("summary") && all("input:not([type=hidden]), textarea, select, button", details).find(visible);
    (field || found).focus();
    return true;
  };
  let prefix = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog?.open) return;
    // A field of the dialog keeps the focus for a moment after the dialog has closed; nobody types there.
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    if (field && visible(field)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "?" && dialog) { dialog.showModal(); event.preventDefault(); return; }
    if (on && !on.checked) return;
    if (Date.now() - prefix < 1500) {
      prefix = 0;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { link.click(); event.preventDefault(); }
    } else if (event.key === "g") { prefix = Date.now();
    } else if (event.key === "j" || event.key === "k") { move(event.key === "j" ? 1 : -1); event.preventDefault();
    } else if (/^[a-z]$/.test(event.key) && reach(event.key)) { event.preventDefault(); }
  });

  // One click is one act.
  document.addEventListener("submit", (event) => {
    if (event.target.dataset.sent) { event.preventDefault(); return; }
    if (event.target.method === "post") event.target.dataset.sent = "1";
  });
  addEventListener("pageshow", () => all("form[data-sent]").forEach((form) => { delete form.dataset.sent; }));

  enhance(document);
  setInterval(tick, 15000);
  setInterval(bars, 1000);
})();
