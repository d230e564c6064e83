// Tables and trees of a document.

/** So many rows are drawn at once; a button draws more. */
const PAGE_OF_ROWS = 400;

/** The metric of a column's id: `e.ompwork` is of `ompwork`. */
function metricOf(column) {
  return column.id.slice(column.id.indexOf(".") + 1);
}

/** The columns of a table that are shown now. */
function shownColumns(table) {
  return table.columns
    .map((column, at) => ({ column, at }))
    .filter(({ column }) => !column.metric || state.metrics.has(metricOf(column)));
}

/** What the cells of a table are made of: one for each column and side. */
function cellsOf(table) {
  const sides = table.values.map((_, side) => side);
  return shownColumns(table).flatMap(({ column, at }) =>
    (table.sides ? sides : [0]).map((side) => ({ column, at, side })));
}

function headingOf(table, { column, side }) {
  const unit = column.unit === "s" ? "sec." : column.unit;
  if (!table.sides) return { words: column.heading, unit };
  const how = side > 0 && state.compare !== "on" ? state.compare : unit;
  return { words: column.heading, unit: `(${side + 1}) ${how}` };
}

function textOf(table, { column, at, side }, row) {
  const cell = (from) => table.values[from]?.[at]?.[row];
  const decimals = table.decimals?.[row] ?? column.decimals;
  if (side > 0) return comparedText(state.compare, cell(0), cell(side), decimals);
  return cellText(cell(side), decimals);
}

/** What a row is sorted by: its number, or how far it changed; of words, themselves. */
function sortValue(table, { at, side }, row) {
  const cell = table.values[side]?.[at]?.[row];
  const number = numberOf(cell);
  if (side > 0 && state.compare !== "on") {
    const first = numberOf(table.values[0]?.[at]?.[row]) || 0;
    return state.compare === "ratio" ? (first ? (number || 0) / first : Infinity) : (number || 0) - first;
  }
  return number ?? cell ?? "";
}

function bodyCell(table, cell, row) {
  const text = textOf(table, cell, row);
  const whole = table.whole[cell.side]?.[cell.at];
  const value = numberOf(table.values[cell.side]?.[cell.at]?.[row]);
  const mean = table.values[cell.side]?.[cell.at]?.[row];
  if (typeof mean?.chance === "number") {
    const chance = numberText(mean.chance, cell.column.decimals);
    return el("td", { class: mean.differs ? "number differs" : "number", title: `± ${chance} by chance` },
      mean.differs ? `${text} *` : text);
  }
  const made = el("td", { class: "number" }, text);
  if (table.sides) return made;
  if (cell.column.percent && whole > 0 && value !== undefined) {
    const percent = (100 * value) / whole;
    made.append(el("span", { class: "percent" }, numberText(percent, 2)));
    const bar = el("span", { class: "bar" });
    bar.style.width = `${Math.min(100, Math.max(0, percent))}%`;
    made.append(bar);
  } else if (cell.column.percent && table.whole[cell.side]) {
    made.append(el("span", { class: "percent" }));
  }
  return made;
}

/** A row's name: a button where there is more to see of it. */
function nameCell(table, row, depth) {
  const name = table.names[row];
  const tail = table.tails?.[row];
  const target = table.targets?.[row];
  const called = target?.function ?? name;
  const inside = [];
  if (hasNeighbours(called)) {
    inside.push(el("button", { class: "link", title: target?.detail, onclick: () => openFunction(called) }, name));
  } else {
    inside.push(el("span", { title: target?.detail }, name));
  }
  if (tail) inside.push(el("span", { class: "faint" }, tail));
  const place = placeOf(called);
  if (place) {
    inside.push(el("button", {
      class: "link faint", "aria-label": `source of ${name}`, onclick: () => openSource(called),
    }, "source"));
  }
  if (target?.place) inside.push(el("span", { class: "faint" }, target.place));
  const made = el("td", { class: "name" }, ...inside.flatMap((it) => [it, " "]));
  if (depth !== undefined) made.style.paddingInlineStart = `${0.4 + 1.1 * depth}em`;
  return made;
}

function rowClass(table, row) {
  const words = [table.roles?.[row], table.marks?.[row]];
  if (state.find && !matches(table.names[row])) words.push("other");
  else if (state.find) words.push("found");
  return words.filter(Boolean).join(" ") || undefined;
}

function matches(name) {
  return name.toLowerCase().includes(state.find.toLowerCase());
}

function headRow(table, cells, key, redraw, isSortable) {
  const order = state.sorts.get(key);
  const heads = cells.map((cell, at) => {
    const { words, unit } = headingOf(table, cell);
    const inside = [el("span", {}, words), el("span", { class: "faint" }, unit)];
    if (!isSortable) return el("th", { scope: "col", title: cell.column.label }, ...inside);
    const isBy = order?.at === at;
    const sort = isBy ? (order.isUp ? "ascending" : "descending") : undefined;
    const turn = () => {
      state.sorts.set(key, { at, isUp: isBy ? !order.isUp : false });
      redraw();
    };
    return el("th", { scope: "col", "aria-sort": sort },
      el("button", { class: "sort", title: cell.column.label, onclick: turn }, ...inside));
  });
  return el("tr", {}, ...heads, el("th", { scope: "col", class: "name" }, table.heading || "Name"));
}

/** Whether a table is of one function between its callers and callees. */
function isOfNeighbours(table) {
  return Object.values(table.roles ?? {}).includes("centre");
}

/** The rows in the order that the reader chose; those of everything stay first. */
function sortedRows(table, cells, key) {
  const rows = table.names.map((_, row) => row);
  const order = state.sorts.get(key);
  const cell = order && cells[order.at];
  if (!cell) return state.compare === "delta" || state.compare === "ratio" ? byChange(table, cells, rows) : rows;
  const compare = (one, two) => {
    const [a, b] = [sortValue(table, cell, one), sortValue(table, cell, two)];
    if (typeof a !== typeof b) return typeof a === "number" ? 1 : -1;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const isTotal = (row) => table.roles?.[row] === "total";
  return rows.sort((one, two) =>
    isTotal(two) - isTotal(one) || (order.isUp ? compare(one, two) : compare(two, one)) || one - two);
}

/** Rows whose first time changed most, first. */
function byChange(table, cells, rows) {
  const cell = cells.find(({ side, column }) => side > 0 && column.metric);
  if (!cell || table.annotated || isOfNeighbours(table)) return rows;
  const change = (row) => {
    const [first, other] = [0, cell.side].map((side) => numberOf(table.values[side]?.[cell.at]?.[row]) || 0);
    return Math.abs(other - first);
  };
  const isTotal = (row) => table.roles?.[row] === "total";
  return rows.sort((one, two) => isTotal(two) - isTotal(one) || change(two) - change(one) || one - two);
}

/** A list of rows. */
function drawList(place, table, key) {
  const cells = cellsOf(table);
  let limit = PAGE_OF_ROWS;
  const draw = () => {
    const isSortable = !table.annotated && !isOfNeighbours(table) && table.names.length > 2;
    let rows = sortedRows(table, cells, key);
    if (state.find && isSortable) {
      rows = rows.filter((row) => matches(table.names[row]) || table.roles?.[row] === "total");
    }
    const body = el("tbody");
    const line = (row) => {
      for (const note of table.notes?.[row] ?? []) {
        body.append(el("tr", { class: "note" }, el("td", { colspan: cells.length }), el("td", {}, note)));
      }
      const tds = cells.map((cell) => bodyCell(table, cell, row));
      body.append(el("tr", { class: rowClass(table, row), "data-line": table.targets?.[row]?.line }, ...tds, nameCell(table, row)));
    };
    rows.slice(0, limit).forEach(line);
    const grid = el("table", {}, el("thead", {}, headRow(table, cells, key, draw, isSortable)), body);
    const parts = [el("div", { class: "scroll" }, grid)];
    if (rows.length > limit) {
      const more = () => { limit += 5 * PAGE_OF_ROWS; draw(); };
      parts.push(el("p", {}, `${limit} of ${rows.length} rows. `, el("button", { onclick: more }, "Show more")));
    }
    place.replaceChildren(...parts, lines(table.foot));
  };
  if (table.names.length === 0 && table.empty) {
    place.replaceChildren(el("pre", {}, table.empty), lines(table.foot));
  } else {
    draw();
  }
}

/** The row after a node and all below it. */
function after(table, row) {
  let next = row + 1;
  while (next < table.depths.length && table.depths[next] > table.depths[row]) next++;
  return next;
}

/** The rows that are open at first: the way to where most time is. */
function openAtFirst(table, at) {
  const time = (row) => numberOf(table.values[0]?.[at]?.[row]) || 0;
  const open = new Set();
  const whole = time(0);
  for (let row = 0; row < table.names.length; row++) {
    const isLarge = whole > 0 && time(row) >= 0.1 * whole;
    if (table.depths[row] < 2 || isLarge) open.add(row);
  }
  return open;
}

/** A tree whose nodes open and close. */
function drawTree(place, table, key) {
  const cells = cellsOf(table);
  const open = state.open.get(key) ?? openAtFirst(table, cells[0]?.at ?? 0);
  state.open.set(key, open);
  let limit = 2 * PAGE_OF_ROWS;
  const draw = (focused) => {
    const body = el("tbody");
    let [row, drawn] = [0, 0];
    for (; row < table.names.length && drawn < limit; drawn++) {
      const at = row;
      const end = after(table, at);
      const hasChildren = end > at + 1;
      const isOpen = open.has(at);
      const turn = () => {
        if (isOpen) open.delete(at);
        else open.add(at);
        draw(at);
      };
      const name = nameCell(table, at, table.depths[at]);
      name.prepend(hasChildren
        ? el("button", {
          class: "twist", "aria-expanded": String(isOpen), "data-row": at,
          "aria-label": `${isOpen ? "close" : "open"} ${table.names[at]}`, onclick: turn,
        }, isOpen ? "▾" : "▸")
        : el("span", { class: "twist" }));
      body.append(el("tr", { class: rowClass(table, at) }, ...cells.map((cell) => bodyCell(table, cell, at)), name));
      row = hasChildren && !isOpen ? end : at + 1;
    }
    const parts = [el("div", { class: "scroll" },
      el("table", {}, el("thead", {}, headRow(table, cells, key, draw, false)), body))];
    if (row < table.names.length && drawn >= limit) {
      parts.push(el("p", {}, el("button", { onclick: () => { limit *= 4; draw(); } }, "Show more")));
    }
    place.replaceChildren(...parts);
    if (focused !== undefined) place.querySelector(`[data-row="${focused}"]`)?.focus();
  };
  draw();
}

/** Lines of text; marked ones stand out. */
function lines(all) {
  const made = el("pre", {});
  for (const line of all ?? []) {
    const [text, mark] = Array.isArray(line) ? line : [line, undefined];
    made.append(el("span", { class: mark }, text + "\n"));
  }
  return made;
}

/** A block of a document. */
function drawBlock(block, key) {
  if (block.lines) return lines(block.lines);
  if (block.cards) return el("div", {}, el("h3", {}, block.caption), drawCards(block.cards));
  if (block.bars) return drawBars(block.bars);
  if (block.texts) return el("pre", {}, block.texts[state.compare] ?? Object.values(block.texts)[0]);
  const place = el("div");
  if (block.table.depths) drawTree(place, block.table, key);
  else drawList(place, block.table, key);
  return block.table.caption ? el("div", {}, el("h3", {}, block.table.caption), place) : place;
}

/** The warnings and notices of a document. */
function said(shown) {
  const items = [
    ...shown.warnings.map((text) => el("li", { class: "warning" }, text)),
    ...shown.notices.map((text) => el("li", {}, text)),
  ];
  return items.length ? el("ul", { class: "said" }, ...items) : undefined;
}

/** What is folded until a reader opens it; it stays so in other views and modes. */
function foldedDetails(blocks) {
  return el("details", {
    open: state.isUnfolded, ontoggle: (event) => { state.isUnfolded = event.target.open; },
  }, el("summary", {}, "Details"), ...blocks);
}

/** A whole document. */
function drawDocument(shown, key) {
  const blocks = shown.blocks.map((block, at) => drawBlock(block, `${key} ${at}`));
  const folded = shown.details === null ? [] : blocks.splice(shown.details);
  return [
    el("h2", {}, shown.title.split("\n")[0]),
    ...blocks,
    folded.length ? foldedDetails(folded) : undefined,
    said(shown),
  ];
}
