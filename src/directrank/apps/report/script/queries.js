/* Two methods, query by query: the chart of differences and the list of queries. */
const PAGE = 15;
const queries = data.queries;
const mount = document.getElementById("compare");
const pick = { a: 0, b: 1, kind: "all", shown: PAGE };
const parts = {};

function values(method) {
  const table = queries.values[state.convention][state.measure];
  return table ? table[queries.methods.indexOf(method)] : null;
}

/* Differences of the two methods on every query, so that positive is better for A. */
function differences() {
  const first = values(pick.a);
  const second = values(pick.b);
  if (!first || !second) return null;
  const sign = data.errors.includes(state.measure) ? -1 : 1;
  const rows = [];
  first.forEach((value, at) => {
    if (value === null || second[at] === null) return;
    const difference = (sign * (value - second[at])) / queries.unit;
    rows.push({ at: at, a: value / queries.unit, b: second[at] / queries.unit, difference: difference });
  });
  return rows.sort((x, y) => y.difference - x.difference || x.at - y.at);
}

function bars(rows) {
  const height = 150;
  const middle = height / 2;
  const most = Math.max(...rows.map((row) => Math.abs(row.difference))) || 1;
  const left = window.innerWidth > 640 ? 5 : 13;
  const width = (100 - left) / rows.length;
  const drawing = draw("svg", { class: "deltas", height: height, role: "img" });
  const words = `Differences of ${data.methods[pick.a]} and ${data.methods[pick.b]} on ${rows.length} queries, sorted`;
  drawing.setAttribute("aria-label", words);
  drawing.append(draw("title", {}, words));
  drawing.append(draw("desc", {}, "Bars above the line: the first is better. The list below has the numbers."));
  rows.forEach((row, order) => {
    const size = ((middle - 6) * Math.abs(row.difference)) / most;
    const bar = draw("rect", {
      x: `${left + order * width}%`,
      width: `${Math.max(width * 0.8, 0.05)}%`,
      y: row.difference > 0 ? middle - size : middle,
      height: Math.max(size, row.difference ? 1 : 0),
      class: row.difference > 0 ? "plus" : "minus",
    });
    bar.append(draw("title", {}, `query ${queries.qid[row.at]}: ${signed(row.difference, 4)}`));
    drawing.append(bar);
  });
  drawing.append(draw("line", { class: "zero", x1: `${left}%`, x2: "100%", y1: middle, y2: middle }));
  drawing.append(draw("text", { x: 0, y: 14 }, signed(most, 2)));
  drawing.append(draw("text", { x: 0, y: middle + 4 }, "0"));
  drawing.append(draw("text", { x: 0, y: height - 4 }, signed(-most, 2)));
  return drawing;
}

/* The relevance of the first documents as a method ranked them, and what puts one of them above the next. */
function chips(method, at) {
  const place = queries.methods.indexOf(method);
  const grades = queries.ranked[place][at];
  const list = make("span", { class: "chips", role: "img", "aria-label": `relevance as ranked: ${grades.join(", ")}` });
  for (const grade of grades) {
    list.append(make("span", { class: `chip g${Math.min(4, Math.ceil(grade))}`, "aria-hidden": "true" }, String(grade)));
  }
  const [rank, adds] = queries.above[place][at] || [];
  const why = rank ? `${rank} above ${rank + 1}: ${adds.replace(/ ([+-])/g, "\u00a0$1").replaceAll("\u00a0-", "\u00a0−") || "no feature differs"}` : "";
  return make("div", {}, list, make("div", { class: "why" }, why));
}

function listed(rows) {
  const kinds = {
    all: () => true,
    a: (row) => row.difference > 0,
    b: (row) => row.difference < 0,
    ties: (row) => row.difference === 0,
  };
  const chosen = rows.filter(kinds[pick.kind]);
  /* The largest differences first, in either direction. */
  chosen.sort((x, y) => Math.abs(y.difference) - Math.abs(x.difference) || x.at - y.at);
  const [a, b] = [data.methods[pick.a], data.methods[pick.b]];
  const shown = chosen.slice(0, pick.shown).map((row) => [null, queries.qid[row.at], [
    cell(signed(row.difference, 4), row.difference, row.difference > 0 ? "wins" : row.difference < 0 ? "loses" : ""),
    cell(row.a.toFixed(4), row.a),
    cell(row.b.toFixed(4), row.b),
    cell(data.folds[queries.fold[row.at]], undefined, "left"),
    cell(chips(pick.a, row.at), undefined, "left"),
    cell(chips(pick.b, row.at), undefined, "left"),
  ]]);
  const head = ["query", "difference", a, b, "fold", `first ten of ${a}`, `first ten of ${b}`];
  const listing = grid("queries", `${chosen.length} queries, ${state.measure}, largest differences first`, head, shown);
  if (chosen.length <= pick.shown) return listing;
  const more = make("button", { type: "button", class: "more" }, `Show ${Math.min(50, chosen.length - pick.shown)} more`);
  more.addEventListener("click", () => {
    pick.shown += 50;
    compare();
    (mount.querySelector("button.more") || mount.querySelector(".scroll")).focus();
  });
  return [...listing, more];
}

function compare() {
  const rows = differences();
  if (!rows || !rows.length) {
    const why = rows ? "has no value on these queries" : "is not in this page query by query; results.json has it";
    parts.said.textContent = `${state.measure} ${why}.`;
    for (const part of [parts.chart, parts.list, parts.others]) part.replaceChildren();
    return;
  }
  parts.said.replaceChildren(...verdict(rows));
  parts.chart.replaceChildren(bars(rows));
  parts.list.replaceChildren(...listed(rows));
  parts.others.replaceChildren(...against());
}

function prepare() {
  const names = queries.methods.map((method) => [String(method), data.methods[method]]);
  const best = data.start.filter((method) => queries.methods.includes(method));
  pick.a = best[0];
  pick.b = best[1];
  const chooser = (label, which) =>
    choice(label, names, String(pick[which]), (value) => {
      pick[which] = Number(value);
      pick.shown = PAGE;
      compare();
    });
  const kinds = [["all", "all"], ["a", "A wins"], ["b", "B wins"], ["ties", "ties"]];
  const kind = choice("Queries listed", kinds, "all", (value) => {
    pick.kind = value;
    pick.shown = PAGE;
    compare();
  });
  for (const name of ["said", "chart", "list", "others"]) parts[name] = make("div", { class: `part-${name}` });
  parts.said.setAttribute("role", "status");
  const few = queries.qid.length < queries.of;
  const left = `The page has the ${queries.qid.length} of ${queries.of} queries on which the methods differ most.`;
  mount.replaceChildren(
    make("div", { class: "controls" }, chooser("Method A", "a"), chooser("Method B", "b"), kind),
    ...(few ? [make("p", { class: "note" }, left)] : []),
    parts.said, parts.chart, parts.list, parts.others,
  );
  listeners.push(compare);
}

if (mount && queries.methods && queries.methods.length > 1) prepare();
refresh();
