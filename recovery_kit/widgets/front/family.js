// The tree of runs and mirrors: a line each, indented; arrows and clicks choose.
function render({ model, el }) {
  const { root, end } = framed(model, el, "rk-family", "Runs and their mirrors");
  const list = make("div", { role: "tree", "aria-label": "Runs and their mirrors" });
  root.append(list);
  function draw(focus = false) {
    const picked = model.get("picked");
    put(list, ...model.get("rows").map(([depth, name, status, tone, cut, gone], n) => {
      const item = make("div", { role: "treeitem", "aria-level": depth + 1, "aria-selected": n === picked, tabindex: n === picked ? 0 : -1, class: `rk-kin${n === picked ? " rk-on" : ""}`,
        onclick: () => choose(n) }, make("span", { "aria-hidden": "true", class: "rk-quiet", text: depth ? "└ " : "" }), make("span", { text: name }),
        make("span", { class: `rk-chip rk-tone-${gone ? "muted" : tone}`, text: status }), make("span", { class: "rk-quiet", text: cut }));
      item.style.paddingLeft = `${depth * 1.4 + 0.4}em`;
      return item;
    }));
    if (focus) list.children[picked]?.focus();
  }
  function choose(n) {
    if (n < 0 || n >= model.get("rows").length) return;
    model.set("picked", n);
    model.save_changes();
    draw(true);
  }
  list.addEventListener("keydown", (event) => {
    const here = model.get("picked"), last = model.get("rows").length - 1;
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    taken(event);
    choose(Math.max(0, Math.min(last, to)));
  });
  const changed = () => draw();
  model.on("change:rows", changed);
  model.on("change:picked", changed);
  draw();
  return () => { model.off("change:rows", changed); model.off("change:picked", changed); end(); };
}

export default { render };
