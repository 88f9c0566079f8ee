/* The state of the page, its contents list and toolbar, and what is hidden. Text becomes text nodes, never markup. */
const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("page-data").textContent);
const state = { convention: data.conventions[0], measure: data.main, words: "" };
const listeners = [];

/* An element with attributes and children; children that are not nodes become text. */
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function draw(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function choice(label, options, chosen, changed) {
  const select = make("select", {});
  for (const [value, text] of options) {
    const option = make("option", { value: value }, text);
    option.selected = value === chosen;
    select.append(option);
  }
  select.addEventListener("change", () => changed(select.value));
  return labelled(label, select);
}

function labelled(label, control) {
  control.id = `choose-${label.toLowerCase().replaceAll(" ", "-")}`;
  return make("div", { class: "control" }, make("label", { for: control.id }, label), control);
}

/* Show the variants of the chosen convention and measure, and the methods that match the filter. */
function refresh() {
  for (const node of document.querySelectorAll(".variant")) {
    const { convention, measure } = node.dataset;
    node.hidden =
      (convention !== undefined && convention !== state.convention) ||
      (measure !== undefined && measure !== state.measure);
  }
  const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = data.texts.map((text) => words.every((word) => text.toLowerCase().includes(word)));
  for (const node of document.querySelectorAll("[data-m]")) {
    const outside = !shown[Number(node.dataset.m)];
    if (node instanceof SVGElement) node.classList.toggle("out", outside);
    else node.hidden = outside;
  }
  const count = shown.filter(Boolean).length;
  document.getElementById("count").textContent = words.length
    ? `${count} of ${data.methods.length} methods shown`
    : "";
  for (const listener of listeners) listener();
}

function set(name, value) {
  state[name] = value;
  refresh();
}

function toolbar() {
  const bar = document.getElementById("toolbar");
  const search = make("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  search.placeholder = "name, kind or year";
  search.addEventListener("input", () => set("words", search.value));
  bar.append(labelled("Find methods", search));
  const measures = data.measures.map((name) => [name, name]);
  bar.append(choice("Measure", measures, state.measure, (value) => set("measure", value)));
  if (data.conventions.length > 1) {
    const conventions = data.conventions.map((name) => [name, name]);
    bar.append(choice("Convention", conventions, state.convention, (value) => set("convention", value)));
  }
  bar.append(make("span", { id: "count", class: "count", role: "status", "aria-live": "polite" }));
  bar.hidden = false;
}

/* A number with its sign, as tables print it. */
function signed(value, digits) {
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);
}

/* Open the folded section that the address names. */
function unfold() {
  const folded = document.querySelector(`${location.hash || "#results"} > details.folded`);
  if (folded) folded.open = true;
}

/* The contents list is always open beside the page, and closed after use above a narrow page. */
function contents() {
  const list = document.getElementById("contents");
  const wide = window.matchMedia("(min-width: 64rem)");
  const fit = () => (list.open = wide.matches);
  wide.addEventListener("change", fit);
  list.addEventListener("click", (event) => event.target.closest("a") && fit());
  fit();
  window.addEventListener("hashchange", unfold);
  unfold();
}

contents();
toolbar();
