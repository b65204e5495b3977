// The timeline: drawn once, the marker moves here; the kernel is asked for the point it rests on, one question at a time.
const HEIGHT = 150, LANE = 15, TOP = 4;
const LANES = [["restart", "restarts", "│", "--rk-ink"], ["unknown", "unknown effects", "?", "--rk-bad"], ["batch", "tool calls", "■", "--rk-good"],
  ["prompt", "people", "◆", "--rk-attention"], ["pause", "status", "‖", "--rk-muted"], ["failed", "failed trips", "×", "--rk-bad"]];

function render({ model, el }) {
  const { root, notice, end: endFrame } = framed(model, el, "rk-scrub", "Timeline of a run");
  const talk = conversation(model, notice);
  let shape, tokens, total, lanes, points = 0, from = 0, to = 0, alive = true;
  let held = { step: null, order: [], regions: new Map() };

  const canvas = make("canvas", { "aria-hidden": "true" });
  const marker = make("div", { class: "rk-marker", "aria-hidden": "true" });
  const plot = make("div", { class: "rk-plot", role: "slider", tabindex: 0, "aria-label": "Point of the run", "aria-valuemin": 0 }, canvas, marker);
  const names = make("div", { class: "rk-lane-names", "aria-hidden": "true" });
  const where = make("strong", {});
  const go = (text, label, act) => make("button", { type: "button", text, "aria-label": label, title: label, onclick: act });
  const watch = make("input", { type: "checkbox", id: `rk-w${Math.random().toString(36).slice(2)}` });
  const bar = make("div", { class: "rk-bar" },
    go("|◀", "first point", () => step(0)), go("◀", "point before", () => step(model.get("step") - 1)), where,
    go("▶", "next point", () => step(model.get("step") + 1)), go("▶|", "last point", () => step(points - 1)),
    go("+", "zoom in", () => zoom(0.5)), go("−", "zoom out", () => zoom(2)), go("all", "show all points", () => zoom(Infinity)),
    go("Read on", "read what was appended", again), make("label", { for: watch.id }, watch, " watch"));
  const legend = make("ul", { class: "rk-keys", "aria-label": "Tokens by region at this point" });
  const ends = make("div", { class: "rk-ends rk-quiet" });
  const tabs = ["Window", "What is sent"].map((text, n) => make("button", { type: "button", role: "tab", text, id: `${watch.id}t${n}`,
    "aria-controls": `${watch.id}p${n}`, "aria-selected": n === 0, tabindex: n === 0 ? 0 : -1, onclick: () => tab(n) }));
  const facts = make("div", { class: "rk-facts", role: "status" });
  const windowPane = make("div", { role: "tabpanel", id: `${watch.id}p0`, "aria-labelledby": `${watch.id}t0`, tabindex: 0 });
  const sentPane = make("div", { role: "tabpanel", id: `${watch.id}p1`, "aria-labelledby": `${watch.id}t1`, tabindex: 0, hidden: true });
  const api = make("select", { "aria-label": "Vendor whose refusals are shown" }, ...["no vendor", "anthropic", "openai"].map((text) => make("option", { text })));
  const restarted = make("input", { type: "checkbox", id: `${watch.id}r` });
  const sentBody = make("div", {});
  sentPane.append(make("div", { class: "rk-bar" }, make("label", {}, "refusals of ", api), make("label", { for: restarted.id }, restarted, " after a restart")), sentBody);
  root.append(bar, make("div", { class: "rk-over" }, names, plot), ends, legend, facts,
    make("div", { class: "rk-bar", role: "tablist", "aria-label": "At this point" }, ...tabs), windowPane, sentPane);

  function load() {
    shape = model.get("shape");
    const raw = model.get("tokens");
    tokens = new Uint32Array(raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength));
    points = shape.points;
    total = new Float64Array(points);
    for (let r = 0; r < shape.regions.length; r += 1) for (let t = 0; t < points; t += 1) total[t] += tokens[r * points + t];
    lanes = LANES.filter(([kind]) => shape.marks[kind]?.length);
    from = 0; to = points;
    held = { step: null, order: [], regions: new Map() };
    put(legend, ...shape.regions.map((region) => {
      const swatch = make("i", { "aria-hidden": "true" });
      swatch.style.background = region.colour;
      return make("li", {}, swatch, make("span", { text: region.name }), make("b", {}));
    }));
    put(names, make("div", { text: "tokens" }), make("div", { text: "stage" }), ...lanes.map(([, name, sign]) => make("div", { text: `${sign} ${name}` })));
    plot.setAttribute("aria-valuemax", Math.max(points - 1, 0));
    plot.style.height = `${TOP + HEIGHT + LANE * (lanes.length + 1)}px`;
    for (const button of bar.querySelectorAll("button")) if (button.textContent !== "Read on") button.disabled = points === 0;
    draw();
    settle();
  }

  const across = (t, width) => ((t - from) / Math.max(to - from, 1)) * width;
  function draw() {
    const width = plot.clientWidth, ratio = window.devicePixelRatio || 1, height = TOP + HEIGHT + LANE * (lanes.length + 1);
    if (!width) return;
    canvas.width = width * ratio; canvas.height = height * ratio;
    canvas.style.width = `${width}px`; canvas.style.height = `${height}px`;
    const g = canvas.getContext("2d"), styles = getComputedStyle(root);
    const probe = make("span", {}); root.append(probe);
    const colour = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
    const ink = colour("--rk-ink"), line = colour("--rk-edge");
    g.scale(ratio, ratio);
    g.font = `11px ${styles.fontFamily}`;
    let peak = 1;
    for (let t = from; t < to; t += 1) peak = Math.max(peak, total[t]);
    const columns = Math.max(1, Math.min(Math.ceil(width), 4000)), base = new Float64Array(columns), up = new Float64Array(columns);
    for (let r = 0; r < shape.regions.length; r += 1) {
      for (let x = 0; x < columns; x += 1) {
        const a = from + Math.floor((x * (to - from)) / columns), b = Math.max(a + 1, from + Math.floor(((x + 1) * (to - from)) / columns));
        let most = 0;
        for (let t = a; t < Math.min(b, to); t += 1) most = Math.max(most, tokens[r * points + t]);
        up[x] = base[x] + most;
      }
      const y = (value) => TOP + HEIGHT - Math.min(1, value / peak) * (HEIGHT - 14);
      g.fillStyle = shape.regions[r].colour; g.beginPath(); g.moveTo(0, y(base[0]));
      for (let x = 0; x < columns; x += 1) { g.lineTo((x * width) / columns, y(up[x])); g.lineTo(((x + 1) * width) / columns, y(up[x])); }
      for (let x = columns - 1; x >= 0; x -= 1) { g.lineTo(((x + 1) * width) / columns, y(base[x])); g.lineTo((x * width) / columns, y(base[x])); }
      g.fill(); base.set(up);
    }
    g.fillStyle = ink; g.fillText(`${counted(peak)} tokens`, 2, TOP + 8);
    const stageTop = TOP + HEIGHT;
    for (const [first, last, name] of shape.stages) {
      if (last < from || first >= to) continue;
      const x = across(first, width), w = across(last + 1, width) - x;
      g.strokeStyle = line; g.strokeRect(x + 0.5, stageTop + 1.5, Math.max(w - 1, 1), LANE - 3);
      g.save(); g.beginPath(); g.rect(x, stageTop, w, LANE); g.clip(); g.fillStyle = ink; g.fillText(name, Math.max(x, 0) + 4, stageTop + 11); g.restore();
    }
    lanes.forEach(([kind, , sign, named], n) => {
      const y = stageTop + LANE * (n + 1) + 11;
      g.fillStyle = colour(named);
      let drawn = -9;
      for (const t of shape.marks[kind]) {
        if (t < from || t >= to) continue;
        const x = across(t + 0.5, width);
        if (x - drawn < 5) continue;
        drawn = x;
        g.fillText(sign, x - 4, y);
      }
      if (kind === "restart") { g.strokeStyle = ink; g.setLineDash([3, 3]); for (const t of shape.marks[kind]) { const x = across(t + 0.5, width); g.beginPath(); g.moveTo(x, TOP); g.lineTo(x, stageTop); g.stroke(); } g.setLineDash([]); }
    });
    probe.remove();
    place();
  }

  const stageAt = (t) => shape.stages.find(([first, last]) => first <= t && t <= last)?.[2] ?? "";
  function place() {
    const t = model.get("step");
    const on = t >= from && t < to;
    marker.hidden = !on;
    if (on) marker.style.transform = `translateX(${across(t + 0.5, plot.clientWidth)}px)`;
    if (points === 0) { where.textContent = "no point: the journal cannot be replayed"; return; }
    where.textContent = `point ${counted(t)} of 0–${counted(points - 1)}`;
    const marked = LANES.filter(([kind]) => shape.marks[kind]?.includes(t)).map(([, name]) => name);
    plot.setAttribute("aria-valuenow", t);
    plot.setAttribute("aria-valuetext", [`point ${t}`, `stage ${stageAt(t)}`, `${counted(total[t] ?? 0)} tokens`, ...marked].join(", "));
    shape.regions.forEach((_, r) => { legend.children[r].lastChild.textContent = counted(tokens[r * points + t] ?? 0); });
    ends.textContent = to - from < points ? `points ${counted(from)} to ${counted(to - 1)} are shown` : `${shape.ends[0]} to ${shape.ends[1]}`;
  }

  // Moving: here at once, the kernel once a frame at most.
  let frame = 0;
  function step(t) {
    t = Math.max(0, Math.min(points - 1, t));
    if (points === 0 || t === model.get("step")) return;
    model.set("step", t);
    if (t < from || t >= to) { const span = to - from; from = Math.max(0, Math.min(points - span, t - Math.floor(span / 2))); to = from + span; draw(); } else place();
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; model.save_changes(); settle(); });
  }
  function zoom(by) {
    const t = Math.max(model.get("step"), 0), span = Math.min(points, Math.max(8, Math.round((to - from) * by) || points));
    from = Math.max(0, Math.min(points - span, t - Math.floor(span / 2)));
    to = Math.min(points, from + span);
    draw();
  }

  // The window at the point: one question is out at a time, and only the newest place counts.
  let asking = false;
  async function settle() {
    if (asking || points === 0 || !alive) return;
    asking = true;
    while (alive && held.step !== model.get("step")) {
      const wanted = model.get("step"), kept = held;
      const answer = await talk.ask("moment", { step: wanted, before: kept.step });
      if (!answer) break;
      if (kept !== held) continue;
      if (answer.order) held.order = answer.order;
      for (const region of answer.regions) held.regions.set(region.id, region);
      held.step = answer.step;
      held.head = answer.head;
      held.fresh = answer.new;
    }
    asking = false;
    if (alive && held.head) { show(); if (!sentPane.hidden) request(); }
  }

  const opened = new Set();
  function show() {
    const head = held.head, kept = held;
    put(facts, make("span", { text: head.said }), make("span", { class: "rk-quiet", text: `${head.tokens}; ${head.spent}; ${head.record}` }),
      head.out ? make("span", { class: "rk-chip rk-tone-attention", text: `? ${head.out} without a result yet` }) : null,
      ...head.marks.map((text) => make("span", { class: "rk-chip rk-tone-muted", text })));
    put(windowPane, ...held.order.filter((id) => held.regions.has(id)).map((id) => {
      const region = held.regions.get(id), fresh = new Set(held.fresh[id] ?? []), changed = id in held.fresh;
      const list = make("ol", { class: "rk-entries" });
      const fill = () => put(list, ...earlier(region, fill), ...region.entries.map((entry, n) => line(entry, region.first + n, fresh.has(region.first + n),
        (number) => talk.ask("entry", { step: kept.step, region: id, entry: number }))));
      fill();
      const block = make("details", {}, make("summary", {}, make("strong", { text: region.name }),
        make("span", { class: "rk-quiet", text: ` ${region.kind}, ${counted(region.count)} ${region.count === 1 ? "entry" : "entries"}, ${counted(region.tokens)} of ${counted(region.most)} tokens ` }),
        changed ? make("span", { class: "rk-chip rk-tone-attention", text: fresh.size ? `+ ${fresh.size} new` : "changed" }) : null), list);
      block.open = opened.has(id) || (changed && fresh.size > 0);
      block.addEventListener("toggle", () => { if (block.open) opened.add(id); else opened.delete(id); });
      return block;
    }));
    if (!held.order.length) put(windowPane, make("p", { class: "rk-quiet", text: "The window has no region." }));
  }
  function earlier(region, fill) {
    if (region.first === 0) return [];
    const more = make("button", { type: "button", text: `${counted(region.first)} earlier`, onclick: async () => {
      const answer = await talk.ask("more", { step: held.step, region: region.id, until: region.first });
      if (answer && answer.first + answer.entries.length === region.first) { region.entries = [...answer.entries, ...region.entries]; region.first = answer.first; fill(); }
    } });
    return [make("li", { class: "rk-earlier" }, more)];
  }
  function line([who, size, text], number, fresh, ask) {
    const body = make("div", {});
    const entry = make("details", {}, make("summary", {}, make("b", { text: `${number} ` }), fresh ? make("span", { class: "rk-chip rk-tone-attention", text: "new" }) : null,
      make("span", { class: "rk-quiet", text: ` ${who}${size === null ? "" : `, ${counted(size)} tokens`}: ` }), make("span", { text })), body);
    entry.addEventListener("toggle", async () => {
      if (!entry.open || body.childNodes.length) return;
      const answer = await ask(number);
      if (answer) put(body, ...answer.texts.map((piece) => make("pre", { text: piece, tabindex: 0 })));
    });
    return make("li", { class: fresh ? "rk-new" : "" }, entry);
  }

  let sentAsked = 0;
  async function request() {
    const mine = (sentAsked += 1);
    const how = { step: model.get("step"), api: api.value === "no vendor" ? null : api.value, after_restart: restarted.checked };
    if (points === 0) return;
    const answer = await talk.ask("sent", how);
    if (!answer || mine !== sentAsked || !alive) return;
    const rows = (part, list) => make("ol", { class: "rk-entries" }, ...list.map(([number, who, text]) => line([who, null, text], number, false, (entry) => talk.ask("piece", { ...how, part, entry }))));
    const said = (list, tone) => list.map((text) => make("p", { class: `rk-tone-${tone}`, text }));
    put(sentBody, make("p", { text: answer.head }),
      ...(how.api ? (answer.refused.length ? said(answer.refused.map((text) => `× ${how.api} would refuse: ${text}`), "bad") : said([`● nothing is known that ${how.api} would refuse`], "good")) : []),
      ...said(answer.assumes.map((text) => `assumed: ${text}`), "muted"),
      make("h4", { text: "System" }), rows("system", answer.system),
      make("h4", { text: answer.first ? `Messages (the first ${answer.first} are not listed)` : "Messages" }), rows("messages", answer.messages));
  }
  api.addEventListener("change", request);
  restarted.addEventListener("change", request);

  function tab(n) {
    tabs.forEach((button, k) => { button.setAttribute("aria-selected", k === n); button.tabIndex = k === n ? 0 : -1; });
    windowPane.hidden = n !== 0;
    sentPane.hidden = n !== 1;
    if (n === 1) request();
  }
  tabs.forEach((button, n) => button.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    taken(event);
    tab(1 - n);
    tabs[1 - n].focus();
  }));

  // Reading on: the place and the zoom stay.
  let timer = 0, reading = false;
  async function again() { if (reading) return; reading = true; await talk.ask("again"); reading = false; }
  watch.addEventListener("change", () => { clearInterval(timer); if (watch.checked) timer = setInterval(() => { if (!document.hidden) again(); }, 2000); });

  const at = (event) => { const box = plot.getBoundingClientRect(); return from + Math.floor(((event.clientX - box.left) / box.width) * (to - from)); };
  plot.addEventListener("pointerdown", (event) => { plot.setPointerCapture(event.pointerId); plot.focus({ preventScroll: true }); step(at(event)); event.preventDefault(); });
  plot.addEventListener("pointermove", (event) => { if (event.buttons & 1) step(at(event)); });
  plot.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const t = model.get("step"), page = Math.max(2, Math.round((to - from) / 10));
    const act = { ArrowRight: () => step(t + 1), ArrowUp: () => step(t + 1), ArrowLeft: () => step(t - 1), ArrowDown: () => step(t - 1), PageUp: () => step(t + page),
      PageDown: () => step(t - page), Home: () => step(0), End: () => step(points - 1), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => zoom(Infinity) }[event.key];
    if (!act) return;
    taken(event);
    act();
  });
  root.addEventListener("keydown", (event) => { if (!["Tab", "Escape"].includes(event.key)) event.stopPropagation(); });

  const moved = () => { place(); settle(); };
  const renewed = () => { const zoomed = to - from < points ? [from, to] : null; load(); if (zoomed && zoomed[1] <= points) { [from, to] = zoomed; draw(); } };
  model.on("change:step", moved);
  model.on("change:generation", renewed);
  const size = new ResizeObserver(draw);
  load();
  size.observe(plot);
  return () => {
    alive = false;
    clearInterval(timer);
    cancelAnimationFrame(frame);
    size.disconnect();
    model.off("change:step", moved);
    model.off("change:generation", renewed);
    talk.end();
    endFrame();
  };
}

export default { render };
