// A picture from the kernel, exchanged as a whole.
function render({ model, el }) {
  const { root, end } = framed(model, el, "rk-pane", model.get("label"));
  const body = make("div", { role: "status" });
  root.append(body);
  const draw = () => { const content = model.get("content"); body.replaceChildren(...(content.length ? [grown(content)] : [])); };
  model.on("change:content", draw);
  draw();
  return () => { model.off("change:content", draw); end(); };
}

export default { render };
