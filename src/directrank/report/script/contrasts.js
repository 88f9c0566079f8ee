/* What the tests say: of the two methods chosen, and of the first one against every other. */
function tested(first, second) {
  const found = data.significance[state.convention];
  const pairs = (found.pairs || {})[state.measure] || [];
  const sign = data.errors.includes(state.measure) ? -1 : 1;
  for (const [a, b, difference, low, high, wins, ties, losses, p, adjusted] of pairs) {
    const straight = a === first && b === second;
    if (!straight && !(a === second && b === first)) continue;
    const way = straight ? sign : -sign;
    const ends = way > 0 ? [low, high] : [-high, -low];
    const [won, lost] = straight ? [wins, losses] : [losses, wins];
    return { difference: way * difference, low: ends[0], high: ends[1], wins: won, ties: ties, losses: lost, p: p, adjusted: adjusted };
  }
  return null;
}

function chance(p) {
  return p < 0.0001 ? "p < 0.0001" : `p = ${Number(p.toPrecision(2))}`;
}

function brief(p) {
  return chance(p).replace(/^p (= )?/, "");
}

function verdict(rows) {
  const [a, b] = [data.methods[pick.a], data.methods[pick.b]];
  if (pick.a === pick.b) return [make("p", {}, "Choose two different methods.")];
  const found = tested(pick.a, pick.b);
  const count = (keep) => rows.filter(keep).length;
  const wins = found ? found.wins : count((row) => row.difference > 0);
  const losses = found ? found.losses : count((row) => row.difference < 0);
  const ties = found ? found.ties : count((row) => row.difference === 0);
  const said = make("p", {}, make("strong", {}, a), ` is better than `, make("strong", {}, b));
  said.append(` on ${wins} queries, worse on ${losses}, the same on ${ties}.`);
  if (found) {
    const settings = data.significance[state.convention];
    const level = `${Math.round(100 * settings.level)}% interval ${signed(found.low, 4)} to ${signed(found.high, 4)}`;
    const verb = found.adjusted < settings.alpha ? "more than chance" : "may well be chance";
    said.append(
      ` Mean difference in favour of ${a} on ${state.measure}: ${signed(found.difference, 4)} (${level}); ` +
        `${verb} (${chance(found.p)}, corrected for all pairs ${chance(found.adjusted)}).`,
    );
  }
  return [said, stacked(wins, ties, losses)];
}

function stacked(wins, ties, losses) {
  const total = wins + ties + losses || 1;
  const words = `wins ${wins}, ties ${ties}, losses ${losses}`;
  const drawing = draw("svg", { class: "stack", height: 14, role: "img", "aria-label": words }, draw("title", {}, words));
  let from = 0;
  for (const [name, size] of [["plus", wins], ["even", ties], ["minus", losses]]) {
    const width = (100 * size) / total;
    if (size) drawing.append(draw("rect", { class: name, x: `${from}%`, width: `${width}%`, height: 14 }));
    from += width;
  }
  return drawing;
}

function against() {
  const rows = [];
  for (const other of queries.methods) {
    const found = other === pick.a ? null : tested(pick.a, other);
    if (found) rows.push([other, found]);
  }
  if (!rows.length) return [];
  rows.sort((x, y) => y[1].difference - x[1].difference);
  const settings = data.significance[state.convention];
  const head = ["against", "difference", "interval", "wins", "ties", "losses", "drawn", "p", "p, corrected"];
  const table = make("table", { "data-table": "against" });
  const words = `${data.methods[pick.a]} against every other method, ${state.measure}: positive is better for it`;
  table.createTHead().append(make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text))));
  const body = table.createTBody();
  for (const [other, found] of rows) {
    const cell = (value, text, style) => make("td", { "data-value": value, class: style || "" }, text);
    const sure = found.adjusted < settings.alpha;
    const row = make("tr", { "data-m": other }, make("th", { scope: "row" }, data.methods[other]));
    row.append(
      cell(found.difference, signed(found.difference, 4), sure ? (found.difference > 0 ? "wins" : "loses") : ""),
      cell(found.low, `${signed(found.low, 4)} to ${signed(found.high, 4)}`),
      cell(found.wins, String(found.wins)),
      cell(found.ties, String(found.ties)),
      cell(found.losses, String(found.losses)),
      make("td", { class: "barcell" }, stacked(found.wins, found.ties, found.losses)),
      cell(found.p, brief(found.p)),
      cell(found.adjusted, brief(found.adjusted) + (sure ? " *" : "")),
    );
    body.append(row);
  }
  sortable(table);
  const note = make("p", { class: "note" }, `* more than chance: corrected p below ${settings.alpha}.`);
  const region = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words }, table);
  return [make("p", { class: "caption" }, words), region, note];
}

if (place && queries.methods && queries.methods.length > 1) prepare();
refresh();
