// Functions between their callers and callees, and annotated sources.

/** The table of each function between its callers and callees, by its name. */
function neighbours() {
  const variant = current();
  variant.neighbours ??= new Map(variant.documents["callers-callees"].blocks
    .filter((block) => block.table)
    .map((block) => {
      const { table } = block;
      const centre = Object.keys(table.roles ?? {}).find((row) => table.roles[row] === "centre");
      return [table.names[centre], block];
    }));
  return variant.neighbours;
}

function hasNeighbours(name) {
  return neighbours().has(name);
}

/** The number of the source of a function and its line. */
function placeOf(name) {
  const places = current().places;
  return Object.hasOwn(places, name) ? places[name] : undefined;
}

function openFunction(name) {
  go({ view: "callers-callees", function: name });
}

function openSource(name) {
  const [file, line] = placeOf(name);
  go({ view: "source", file, line });
}

/** One function between its callers and callees. */
function drawNeighbours(key) {
  const shown = current().documents["callers-callees"];
  const known = neighbours();
  const names = [...known.keys()];
  if (!known.has(state.function)) state.function = names[1] ?? names[0];
  const choose = el("input", {
    list: "functions", value: state.function ?? "", "aria-label": "function", size: 50,
    onchange: (event) => { if (known.has(event.target.value)) openFunction(event.target.value); },
  });
  const list = el("datalist", { id: "functions" }, ...names.map((name) => el("option", { value: name })));
  const block = known.get(state.function);
  return [
    el("h2", {}, shown.title.split("\n")[0]),
    el("p", {}, el("label", {}, "Function ", choose), list),
    block && drawBlock(block, `${key} ${state.function}`),
    said(shown),
  ];
}

/** The paths of the sources. */
function sourceTitles() {
  return current().sources.map((shown) => {
    const first = shown.blocks.find((block) => block.lines)?.lines[0] ?? "";
    return (Array.isArray(first) ? first[0] : first).replace(/^Source file: /, "");
  });
}

/** A source file with the times of its lines. */
function drawSource(key) {
  const { sources } = current();
  if (sources.length === 0) {
    return [el("h2", {}, "Source"), el("p", {}, "No source text is in this report.")];
  }
  const titles = sourceTitles();
  const file = Math.min(state.file ?? 0, sources.length - 1);
  const choose = el("select", {
    "aria-label": "source file", onchange: (event) => go({ view: "source", file: Number(event.target.value), line: 0 }),
  }, ...titles.map((title, at) => el("option", { value: at, selected: at === file }, title)));
  const shown = sources[file];
  const made = el("div", { class: "source" }, ...shown.blocks.map((block, at) => drawBlock(block, `${key} ${file} ${at}`)));
  if (state.line) {
    requestAnimationFrame(() => {
      const rows = [...made.querySelectorAll("tr[data-line]")];
      const row = rows.find((it) => Number(it.dataset.line) >= state.line);
      row?.classList.add("found");
      row?.scrollIntoView({ block: "center" });
    });
  }
  return [
    el("h2", {}, "Source"),
    el("p", {}, el("label", {}, "File ", choose)),
    el("p", { class: "faint" }, "Lines far from any time are left out."),
    made,
    said(shown),
  ];
}
