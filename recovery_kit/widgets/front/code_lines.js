// Calls to copy.
function render({ model, el }) {
  const { root, end } = framed(model, el, "rk-code", "The same as code");
  const text = make("pre", { tabindex: 0, "aria-label": "Calls" });
  const said = make("span", { role: "status", class: "rk-quiet" });
  const copy = make("button", { type: "button", text: "Copy as code", onclick: async () => {
    try { await navigator.clipboard.writeText(text.textContent); said.textContent = "copied"; }
    catch { getSelection().selectAllChildren(text); said.textContent = "selected: press Ctrl+C"; }
  } });
  const details = make("details", {}, make("summary", { text: "The same as code" }), make("div", { class: "rk-bar" }, copy, said), text);
  details.open = true;
  root.append(details);
  const draw = () => { text.textContent = model.get("lines").join("\n"); text.scrollTop = text.scrollHeight; said.textContent = ""; };
  model.on("change:lines", draw);
  draw();
  return () => { model.off("change:lines", draw); end(); };
}

export default { render };
