// The ledger of calls: a line a batch, a mark a call, evidence beside it on click or Enter.
function render({ model, el }) {
  const { root, notice, end: endFrame } = framed(model, el, "rk-effects", "Tool calls and how surely they took effect");
  const talk = conversation(model, notice);
  let alive = true, shown = 0, of = 0, asked = 0;
  const counts = make("span", { class: "rk-counts" });
  const only = make("input", { type: "checkbox", id: `rk-o${Math.random().toString(36).slice(2)}`, onchange: () => fill(true) });
  const said = make("span", { role: "status", class: "rk-quiet" });
  const list = make("div", { class: "rk-ledger", role: "listbox", "aria-label": "Calls; arrows choose one" });
  const more = make("button", { type: "button", text: "more batches", hidden: true, onclick: () => fill(false) });
  const evidence = make("div", { class: "rk-evidence", role: "region", "aria-label": "Evidence", "aria-live": "polite" },
    make("p", { class: "rk-quiet", text: "Choose a call: its arguments, its result and the record that proves it are shown here." }));
  root.append(make("div", { class: "rk-bar" }, counts, make("label", { for: only.id }, only, " only batches to look at"),
    make("button", { type: "button", text: "Read on", onclick: () => talk.ask("again") }), said),
    make("div", { class: "rk-two" }, make("div", {}, list, more), evidence));

  function count() {
    put(counts, ...model.get("counts").filter((row) => row[3]).map(([sign, word, tone, n]) => make("span", { class: `rk-chip rk-tone-${tone}`, text: `${sign} ${n} ${word}` })));
  }
  async function fill(fresh, upto = 0) {
    const mine = (asked += 1);
    if (fresh) shown = 0;
    const answer = await talk.ask("batches", { first: shown, look: only.checked });
    if (!answer || !alive || mine !== asked) return;
    if (fresh) put(list);
    list.append(...answer.batches.map(batch));
    shown = answer.first + answer.batches.length;
    of = answer.of;
    said.textContent = of === 0 ? "no batch" : shown < of ? `${counted(shown)} of ${counted(of)} batches` : `${counted(of)} ${of === 1 ? "batch" : "batches"}`;
    more.hidden = shown >= of;
    mark();
    if (shown < upto && shown < of) await fill(false, upto);
  }
  function batch([text, calls]) {
    return make("div", { class: "rk-batch", role: "group", "aria-label": text }, make("span", { class: "rk-quiet rk-turn", text }),
      ...calls.map(([number, sign, word, tone, name]) => make("button", { type: "button", role: "option", class: `rk-call rk-tone-${tone}`, "data-call": number, tabindex: -1,
        "aria-selected": "false", "aria-label": `${name}: ${word}` }, make("span", { "aria-hidden": "true", class: "rk-sign", text: sign }), make("span", { text: ` ${name} ` }), make("small", { text: word }))));
  }
  const all = () => [...list.querySelectorAll("[data-call]")];
  function mark() {
    const picked = model.get("picked"), calls = all();
    for (const call of calls) { const on = Number(call.dataset.call) === picked; call.setAttribute("aria-selected", on); call.tabIndex = on ? 0 : -1; }
    if (calls.length && !calls.some((call) => call.tabIndex === 0)) calls[0].tabIndex = 0;
  }
  function choose(number) {
    model.set("picked", number);
    model.save_changes();
    mark();
    show();
  }
  async function show() {
    const number = model.get("picked");
    if (number < 0) { put(evidence, make("p", { class: "rk-quiet", text: "No call is chosen." })); return; }
    const answer = await talk.ask("evidence", { call: number });
    if (!answer || !alive || number !== model.get("picked")) return;
    const facts = make("dl", {});
    for (const [name, text] of answer.facts) facts.append(make("dt", { text: name }), make("dd", { text }));
    put(evidence, make("h4", { class: `rk-tone-${answer.tone}`, text: answer.name }), facts,
      ...answer.texts.flatMap(([name, text]) => [make("div", { class: "rk-quiet", text: name }), make("pre", { text, tabindex: 0 })]));
  }
  list.addEventListener("click", (event) => { const call = event.target.closest("[data-call]"); if (call) choose(Number(call.dataset.call)); });
  list.addEventListener("keydown", (event) => {
    const calls = all(), here = calls.indexOf(document.activeElement);
    const to = { ArrowRight: here + 1, ArrowDown: here + 1, ArrowLeft: here - 1, ArrowUp: here - 1, Home: 0, End: calls.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey) { event.stopPropagation(); return; }
    taken(event);
    const next = calls[Math.max(0, Math.min(calls.length - 1, to))];
    if (next) { choose(Number(next.dataset.call)); next.focus(); }
  });
  const picked = () => { mark(); show(); };
  const came = () => { count(); fill(true, shown); };
  model.on("change:picked", picked);
  model.on("change:come", came);
  count();
  fill(true);
  if (model.get("picked") >= 0) show();
  return () => { alive = false; model.off("change:picked", picked); model.off("change:come", came); talk.end(); endFrame(); };
}

export default { render };
