// The run table: only the rows that are seen are in the page, and only rows that were seen came from the kernel.
const ROW = 28;

function render({ model, el }) {
  const { root, notice, end: endFrame } = framed(model, el, "rk-runs", "Runs");
  const talk = conversation(model, notice);
  const columns = model.get("columns");
  let wanted = { query: "", sort: "", down: false };
  let rows = new Map();      // place in the order -> [number, cells]
  let fitting = 0, place = -1, turn = 0, busy = false, again = false, wish = null, alive = true;

  const filter = make("input", { type: "search", "aria-label": "Filter runs", placeholder: "Filter: a word, or unknown>0" });
  const said = make("span", { role: "status", class: "rk-quiet" });
  const refresh = make("button", { type: "button", text: "Look again", onclick: () => talk.ask("again") });
  const head = make("div", { class: "rk-row rk-head", role: "row" });
  const heads = columns.map((column) => {
    const button = make("button", { type: "button", text: column.heading, tabindex: 0, onclick: () => sortBy(column.key) });
    const cell = make("div", { role: "columnheader", "aria-sort": "none", class: "rk-cell" }, button);
    head.append(cell);
    return cell;
  });
  const seen = make("div", { class: "rk-seen", role: "rowgroup" });
  const space = make("div", { class: "rk-space", role: "presentation" }, seen);
  const grid = make("div", { class: "rk-grid", role: "grid", tabindex: 0, "aria-label": "Runs; arrows choose one" },
    make("div", { role: "rowgroup", class: "rk-heads" }, head), space);
  root.style.setProperty("--rk-columns", columns.map((column) => column.width).join(" "));
  root.append(make("div", { class: "rk-bar" }, filter, refresh, said), grid);

  function sortBy(key) {
    wanted = { ...wanted, sort: key, down: wanted.sort === key ? !wanted.down : ["unknown", "cost", "still", "moved"].includes(key) };
    start();
  }

  // A new order: what is seen stays until the first rows of it are here.
  function start() {
    turn += 1;
    heads.forEach((cell, n) => cell.setAttribute("aria-sort",
      columns[n].key !== wanted.sort ? "none" : wanted.down ? "descending" : "ascending"));
    grid.scrollTop = 0;
    fill(turn, true);
  }

  async function fill(mine, fresh = false) {
    if (busy) { again = fresh || again === "fresh" ? "fresh" : "more"; return; }
    busy = true;
    const [first, last] = visible();
    let answer = await talk.ask("page", { ...wanted, first, count: last - first });
    while (alive && answer?.of !== undefined && mine === turn) {
      said.textContent = `reading ${counted(answer.read)} of ${counted(answer.of)}`;
      answer = await talk.ask("page", { ...wanted, first, count: last - first });
    }
    busy = false;
    if (alive && answer?.rows && mine === turn) {
      if (fresh) rows = new Map();
      answer.rows.forEach((row, n) => rows.set(answer.first + n, row));
      fitting = answer.fitting;
      place = answer.place;
      said.textContent = answer.said;
      grid.setAttribute("aria-rowcount", fitting + 1);
      space.style.height = `${Math.max(fitting, 1) * ROW}px`;
      if (wish !== null && rows.has(wish)) { choose(wish); wish = null; } else paint();
      deepen(mine);
    }
    if (again) { const next = again; again = false; fill(turn, next === "fresh"); }
  }

  async function deepen(mine) {
    const [first, last] = visible();
    let numbers = [];
    for (let at = first; at < last; at += 1) if (rows.get(at)?.[1].includes(null)) numbers.push(rows.get(at)[0]);
    while (alive && numbers.length && mine === turn) {
      const answer = await talk.ask("deep", { numbers });
      if (!answer?.rows.length) return;
      const told = new Map(answer.rows);
      for (const [at, row] of rows) if (told.has(row[0])) rows.set(at, [row[0], told.get(row[0])]);
      numbers = numbers.filter((number) => !told.has(number));
      paint();
    }
  }

  function visible() {
    const top = Math.floor(grid.scrollTop / ROW);
    return [Math.max(0, top - 8), top + Math.ceil((grid.clientHeight || 400) / ROW) + 16];
  }

  function cellOf(value) {
    const cell = make("div", { role: "gridcell", class: "rk-cell" });
    if (value === null) cell.append(make("span", { class: "rk-quiet", text: "…" }));
    else if (typeof value === "string") { cell.textContent = value; cell.title = value; }
    else cell.append(make("span", { class: `rk-chip rk-tone-${value[1]}`, text: value[0], title: value[0] }));
    return cell;
  }

  function paint() {
    const picked = model.get("picked");
    const [first, last] = visible();
    const drawn = [];
    let missing = false;
    for (let at = first; at < Math.min(last, fitting); at += 1) {
      const row = rows.get(at);
      if (!row) { missing = true; continue; }
      const on = row[0] === picked;
      const node = make("div", { class: `rk-row${on ? " rk-on" : ""}`, role: "row", id: `${id}-${at}`,
        "aria-rowindex": at + 2, "aria-selected": on, "data-at": at });
      node.style.top = `${at * ROW}px`;
      node.append(make("span", { class: "rk-sign", "aria-hidden": "true", text: on ? "▸" : "" }), ...row[1].map(cellOf));
      drawn.push(node);
      if (on) { place = at; }
    }
    put(seen, ...drawn);
    if (fitting === 0) put(seen, make("p", { class: "rk-quiet", text: "No run fits." }));
    if (place >= first && place < last) grid.setAttribute("aria-activedescendant", `${id}-${place}`);
    else grid.removeAttribute("aria-activedescendant");
    return missing;
  }
  const id = `rk${Math.random().toString(36).slice(2)}`;

  // Selects a row; one that is not here yet is selected when it comes.
  function choose(at) {
    const row = rows.get(at);
    if (!row) return;
    place = at;
    model.set("picked", row[0]);
    model.save_changes();
    paint();
  }

  function moveTo(at) {
    at = Math.max(0, Math.min(fitting - 1, at));
    const top = at * ROW, room = grid.clientHeight - 2 * ROW;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top > grid.scrollTop + room) grid.scrollTop = top - room;
    if (rows.has(at)) choose(at);
    else { place = wish = at; fill(turn); }
  }

  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid) return;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    taken(event);
    if (fitting) moveTo(step === Infinity ? fitting - 1 : step === -Infinity ? 0 : place + step);
  });
  for (const inside of [filter, head]) inside.addEventListener("keydown", (event) => event.stopPropagation());
  seen.addEventListener("click", (event) => {
    const row = event.target.closest(".rk-row");
    if (row) { choose(Number(row.dataset.at)); grid.focus({ preventScroll: true }); }
  });
  let frame = 0, typing = 0;
  const looked = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => { if (paint()) fill(turn); else deepen(turn); }); };
  grid.addEventListener("scroll", looked);
  filter.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => { wanted = { ...wanted, query: filter.value }; start(); }, 150);
  });
  const picked = () => paint();
  const came = () => { rows = new Map(); fill(turn, true); };
  model.on("change:picked", picked);
  model.on("change:come", came);
  const size = new ResizeObserver(looked);
  size.observe(grid);
  start();
  return () => {
    alive = false;
    size.disconnect();
    clearTimeout(typing);
    cancelAnimationFrame(frame);
    model.off("change:picked", picked);
    model.off("change:come", came);
    talk.end();
    endFrame();
  };
}

export default { render };
