/* Tests of differences: of the two methods chosen, and of the first against every other method. */
function tested(first, second) {
  const found = data.significance[state.convention];
  const pairs = (found.pairs || {})[state.measure] || [];
  const sign = data.errors.includes(state.measure) ? -1 : 1;
  for (const [a, b, difference, low, high, wins, ties, losses, p, adjusted, level] of pairs) {
    const straight = a === first && b === second;
    if (!straight && !(a === second && b === first)) continue;
    const way = straight ? sign : -sign;
    const ends = way > 0 ? [low, high] : [-high, -low];
    const [won, lost] = straight ? [wins, losses] : [losses, wins];
    return { difference: way * difference, low: ends[0], high: ends[1], wins: won, ties: ties, losses: lost, p: p, adjusted: adjusted, level: level };
  }
  return null;
}

function brief(p) {
  return p < 0.0001 ? "< 0.0001" : String(Number(p.toPrecision(2)));
}

function verdict(rows) {
  const [a, b] = [data.methods[pick.a], data.methods[pick.b]];
  if (pick.a === pick.b) return [make("p", {}, "Choose two different methods.")];
  const found = tested(pick.a, pick.b);
  const count = (sign) => rows.filter((row) => Math.sign(row.difference) === sign).length;
  const [wins, ties, losses] = found ? [found.wins, found.ties, found.losses] : [count(1), count(0), count(-1)];
  const name = (text) => make("strong", { class: "name" }, text);
  const said = make("p", {}, name(a), " is better than ", name(b));
  said.append(` on ${wins} queries, worse on ${losses}, the same on ${ties}.`);
  if (found) {
    const settings = data.significance[state.convention];
    const level = `${Number((100 * found.level).toPrecision(4))}% interval ${signed(found.low, 4)} to ${signed(found.high, 4)}`;
    const verb = found.adjusted < settings.alpha ? "statistically significant" : "not significant, it may be chance";
    said.append(
      ` Mean difference in favour of ${a} on ${state.measure}: ${signed(found.difference, 4)} (${level}); ` +
        `${verb} (p ${brief(found.p)}, after correction for all pairs ${brief(found.adjusted)}).`,
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
  const found = queries.methods
    .map((other) => [other, other === pick.a ? null : tested(pick.a, other)])
    .filter(([, test]) => test)
    .sort((x, y) => y[1].difference - x[1].difference);
  if (!found.length) return [];
  const alpha = data.significance[state.convention].alpha;
  const rows = found.map(([other, test]) => {
    const sure = test.adjusted < alpha;
    return [other, data.methods[other], [
      cell(signed(test.difference, 4), test.difference, sure ? (test.difference > 0 ? "wins" : "loses") : ""),
      cell(`${signed(test.low, 4)} to ${signed(test.high, 4)}`, test.low),
      cell(String(test.wins), test.wins),
      cell(String(test.ties), test.ties),
      cell(String(test.losses), test.losses),
      cell(stacked(test.wins, test.ties, test.losses), undefined, "barcell"),
      cell(brief(test.p), test.p),
      cell(brief(test.adjusted) + (sure ? " *" : ""), test.adjusted),
    ]];
  });
  const head = ["against", "difference", "interval", "wins", "ties", "losses", "drawn", "p", "p, corrected"];
  const words = `${data.methods[pick.a]} against every other method, ${state.measure}: positive means it is better`;
  const note = make("p", { class: "note" }, `* statistically significant: corrected p below ${alpha}.`);
  return [...grid("against", words, head, rows), note];
}
