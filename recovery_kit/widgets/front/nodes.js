// What every view shares: elements, questions to the kernel, pictures as trees. Put in front of each view's own file.
// Text of a run arrives masked and with its control characters made visible, and is only ever set as text.
const SVG_NS = "http://www.w3.org/2000/svg";

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("aria-")) { if (value != null) node.setAttribute(name, String(value)); }
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

// Children in place of those that are there; null is nothing.
function put(node, ...children) {
  node.replaceChildren(...children.filter((child) => child != null));
}

// A picture: a text, or [tag, attributes, ...children] with the tags and attributes that the kernel's own list allows.
function grown(tree, inSvg = false) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const [tag, attributes, ...children] = tree;
  const svg = inSvg || tag === "svg";
  const node = svg ? document.createElementNS(SVG_NS, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (!/^on/i.test(name)) node.setAttribute(name, value);
  for (const child of children) node.append(grown(child, svg));
  return node;
}

// One conversation of one view with the kernel: `ask` resolves with the answer; a refusal is shown and resolves null.
function conversation(model, notice) {
  const mine = Math.random().toString(36).slice(2);
  const open = new Map();
  let number = 0;
  const heard = (message) => {
    if (message?.view !== mine) return;
    const waiting = open.get(message.number);
    if (!waiting) return;
    open.delete(message.number);
    clearTimeout(waiting.timer);
    notice(message.refusal ?? "");
    waiting.resolve(message.refusal ? null : message);
  };
  model.on("msg:custom", heard);
  return {
    ask(what, more = {}) {
      number += 1;
      const mineNow = number;
      return new Promise((resolve) => {
        const timer = setTimeout(() => notice("The kernel has not answered yet: it is busy, or it is gone."), 6000);
        open.set(mineNow, { resolve, timer });
        model.send({ ask: what, view: mine, number: mineNow, ...more });
      });
    },
    end() {
      model.off("msg:custom", heard);
      for (const waiting of open.values()) clearTimeout(waiting.timer);
      open.clear();
    },
  };
}

// The frame of a view: a heading line, a place for refusals that screen readers hear, and the body.
function framed(model, el, name, label) {
  const refusal = make("div", { class: "rk-refusal", role: "alert" });
  const root = make("section", { class: `rk-view ${name}`, "aria-label": label });
  root.append(refusal);
  el.append(root);
  const notice = (sentence) => { refusal.textContent = sentence; };
  const changed = () => notice(model.get("refusal") ?? "");
  model.on("change:refusal", changed);
  changed();
  return { root, notice, end: () => model.off("change:refusal", changed) };
}

// Keys that a view has taken must not move Lab's cells.
function taken(event) {
  event.preventDefault();
  event.stopPropagation();
}

const counted = (n) => Math.round(n).toLocaleString("en");
