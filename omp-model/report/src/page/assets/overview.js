// The overview's pictures: bars of time by use, and cards of advice.

/** An element of a drawing. */
function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A part of a bar in words: `imbalance: 1.219 s, 23.9 %`. */
function partText(bars, [use, seconds], whole) {
  return `${bars.uses[use].words}: ${seconds.toFixed(3)} s, ${((100 * seconds) / whole).toFixed(1)} %`;
}

/** Lines over what threads wanted a CPU for and did not get. */
function hatching() {
  return drawn("defs", {}, drawn("pattern", {
    id: "off-cpu", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
  }, drawn("rect", { width: 6, height: 6, fill: "#dddddd" }), drawn("rect", { width: 2, height: 6, fill: "#777777" })));
}

function fillOf(use) {
  return use.is_off_cpu ? "url(#off-cpu)" : use.colour;
}

/** A bar. Its width is its part of the whole's. */
function drawBar(bars, { name, parts, whole }) {
  const said = parts.map((part) => partText(bars, part, whole)).join("; ");
  const made = drawn("svg", {
    role: "img", "aria-label": `${name}: ${said}`, viewBox: "0 0 1000 20", preserveAspectRatio: "none",
  });
  let from = 0;
  for (const part of parts) {
    const width = (1000 * part[1]) / whole;
    made.append(drawn("rect", { x: from, y: 0, width, height: 20, fill: fillOf(bars.uses[part[0]]) },
      drawn("title", {}, partText(bars, part, whole))));
    from += width;
  }
  return made;
}

/** Bars under each other on one scale, with a legend. */
function drawBars(bars) {
  const rows = bars.rows.map((row) => {
    const seconds = row.parts.reduce((sum, part) => sum + part[1], 0);
    const name = row.function && hasNeighbours(row.function)
      ? el("button", { class: "link", title: row.function, onclick: () => openFunction(row.function) }, row.name)
      : el("span", { title: row.function ?? undefined }, row.name);
    return el("tr", {},
      el("th", { scope: "row", class: "name" }, name),
      el("td", { class: "number" }, `${seconds.toFixed(3)} s`),
      el("td", { class: "number faint" }, `${((100 * seconds) / row.whole).toFixed(1)} %`),
      el("td", { class: "wide" }, drawBar(bars, row)));
  });
  const swatch = (use) => drawn("svg", { class: "swatch", viewBox: "0 0 12 12" },
    drawn("rect", { width: 12, height: 12, fill: fillOf(use) }));
  const legend = bars.uses.map((use) => el("li", {}, swatch(use), use.words));
  return el("figure", { class: "bars" },
    el("figcaption", {}, bars.caption),
    drawn("svg", { width: 0, height: 0, "aria-hidden": "true" }, hatching()),
    el("table", {}, el("tbody", {}, ...rows)),
    el("ul", { class: "legend" }, ...legend));
}

/** Where advice leads to: its line of source, its function, the view with the details. */
function linksOf({ function: name, file, line, view }) {
  const links = [];
  const add = (text, onclick) => links.push(el("button", { class: "link", onclick }, text));
  const known = sourceTitles().indexOf(file);
  const place = known >= 0 ? [known, line] : name && placeOf(name);
  if (place) add("source", () => go({ view: "source", file: place[0], line: line ?? place[1] }));
  if (name && hasNeighbours(name)) add("callers and callees", () => openFunction(name));
  const title = data.views.find(([, known]) => known === view)?.[0];
  if (title) add(title.toLowerCase(), () => go({ view }));
  return links;
}

/** Advice, most gain first. */
function drawCards(cards) {
  return el("ol", { class: "cards" }, ...cards.map((card) => el("li", {},
    el("strong", {}, card.name),
    ...card.lines.map((line) => el("p", {}, line)),
    el("p", { class: "links" }, ...linksOf(card)))));
}
