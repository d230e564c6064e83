// The call tree as boxes: as wide as their time, callers above.

const BOX = 19;

/** A row's time in each experiment. */
function timesOf(table, at, row) {
  return table.values.map((side) => Math.max(0, numberOf(side[at]?.[row]) || 0));
}

/**
 * How wide each row is drawn, in the metric's unit: as much as the experiment `side` has, or, without one, as
 * much as the one that has most, so that what only one of them has is drawn. What moved from one callee to
 * another makes callees together wider than any experiment's time: their caller is as wide as they are.
 */
function widthsOf(table, at, side) {
  const widths = new Float64Array(table.names.length);
  // By depth: the widths of the rows passed whose caller is not.
  const below = [];
  for (let row = widths.length - 1; row >= 0; row--) {
    const depth = table.depths[row];
    const times = timesOf(table, at, row);
    const own = side === undefined ? Math.max(...times) : times[side];
    widths[row] = Math.max(own, below[depth + 1] ?? 0);
    below[depth + 1] = 0;
    below[depth] = (below[depth] ?? 0) + widths[row];
  }
  return widths;
}

/** A tree's rows as boxes under `root`: where they begin and end, as parts of 1. */
function boxesOf(table, widths, root, least) {
  const whole = widths[root];
  const boxes = [];
  if (!(whole > 0)) return boxes;
  const starts = [];
  const end = after(table, root);
  for (let row = root; row < end;) {
    const depth = table.depths[row] - table.depths[root];
    const start = depth === 0 ? 0 : starts[depth];
    const width = widths[row] / whole;
    if (depth > 0) starts[depth] = start + width;
    if (width < least) {
      row = after(table, row);
      continue;
    }
    starts[depth + 1] = start;
    boxes.push({ row, depth, start, width });
    row++;
  }
  return boxes;
}

/** The outermost of the rows that match the search: what is below one is part of its time. */
function outermostMatches(table) {
  const found = [];
  for (let row = 0; row < table.names.length;) {
    const isMatch = matches(table.names[row]);
    if (isMatch) found.push(row);
    row = isMatch ? after(table, row) : row + 1;
  }
  return found;
}

/** The callees of a row that have a name: two load objects may have functions of one name. */
function calleesOf(table, row, name) {
  const found = [];
  for (let child = row + 1, end = after(table, row); child < end; child = after(table, child)) {
    if (table.names[child] === name) found.push(child);
  }
  return found;
}

/** The stack of a row from the outermost frame in: names, and which of its caller's callees of that name, from 1. */
function stackOf(table, row) {
  const all = ancestors(table, row);
  return all.slice(1).map((it, at) => {
    const name = table.names[it];
    return { name, number: calleesOf(table, all[at], name).indexOf(it) + 1 };
  });
}

/** The row of a stack, as far as the tree has it. */
function rowOfStack(table, stack) {
  let row = 0;
  let depth = 0;
  for (const { name, number } of stack) {
    const callee = calleesOf(table, row, name)[number - 1];
    if (callee === undefined) break;
    row = callee;
    depth++;
  }
  return { row, isWhole: depth === stack.length };
}

/** The rows around a row, itself last. */
function ancestors(table, row) {
  const found = [row];
  for (let at = row - 1, depth = table.depths[row] - 1; at >= 0 && depth >= 0; at--) {
    if (table.depths[at] === depth) {
      found.unshift(at);
      depth--;
    }
  }
  return found;
}

/** A colour of its own for each name; states have theirs, as on the timeline. */
function boxColour(name) {
  const known = data.timeline.activities.find(([words]) => name.toLowerCase().startsWith(`<omp ${words}`));
  if (known) return known[2];
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
  return `hsl(${30 + (hash % 30)} ${55 + (hash >> 8) % 25}% ${isDark() ? 62 : 74}%)`;
}

/**
 * The step of `data.changes` that a row is in: the mean of the other experiments against the first. A difference
 * of means that may be chance is none.
 */
function changeAt(table, at, row) {
  const [first, ...others] = timesOf(table, at, row);
  const same = data.changes.findIndex(({ word }) => word === "same");
  const last = data.changes.length - 1;
  const other = others.reduce((sum, time) => sum + time, 0) / Math.max(1, others.length);
  if (first < NOTHING) return other < NOTHING ? same : last;
  if (other < NOTHING) return 0;
  const cells = table.values.slice(1).map((side) => side[at]?.[row]);
  if (cells.every((cell) => typeof cell?.chance === "number" && !cell.differs)) return same;
  return data.changes.findIndex(({ below }) => typeof below === "number" && other < first * below);
}

/** The colour of a step in the page's scheme. */
function changeColour({ colours }) {
  return colours[isDark() ? 1 : 0];
}

/** What a name has before it where not all experiments have it. */
function changeWord(table, at, row) {
  if (!table.sides) return "";
  const { word } = data.changes[changeAt(table, at, row)];
  return word === "new" || word === "gone" ? word : "";
}

/** A value and what part of all it is, as tables write them. */
function shareText(value, whole, { decimals, unit }) {
  const part = whole > 0 ? numberText((100 * value) / whole, 2) : "-";
  return `${numberText(value, decimals)} ${unit}, ${part} %`;
}

/** What a row has: of one experiment or of each. */
function boxText(table, { column, at }, row, root) {
  const name = `${table.names[row]}${table.tails?.[row] ?? ""}`;
  const [first, ...others] = table.values.map((side) => side[at]?.[row]);
  const value = (cell) => numberOf(cell) ?? 0;
  const whole = (side) => table.whole[side]?.[at];
  if (!table.sides) {
    const part = value(table.values[0][at][root]);
    const below = root > 0 && part > 0 ? `, ${numberText((100 * value(first)) / part, 2)} % of what is shown` : "";
    return `${name}: ${shareText(value(first), whole(0), column)} of all${below}`;
  }
  const how = state.compare === "ratio" ? "ratio" : "delta";
  const sides = others.map((cell, side) => {
    const chance = typeof cell?.chance === "number" ? ` ± ${numberText(cell.chance, column.decimals)} by chance` : "";
    const change = comparedText(how, value(first), value(cell), column.decimals);
    return `(${side + 2}) ${shareText(value(cell), whole(side + 1), column)}, ${change}${chance}`;
  });
  const word = changeWord(table, at, row);
  return `${word ? `${word}: ` : ""}${name}: ${[`(1) ${shareText(value(first), whole(0), column)}`, ...sides].join("; ")}`;
}

/** What the rows that match the search have together. */
function foundText(table, { column, at }) {
  const rows = outermostMatches(table);
  const sides = table.values.map((side, number) => {
    const sum = rows.reduce((sum, row) => sum + (numberOf(side[at]?.[row]) ?? 0), 0);
    return `${table.sides ? `(${number + 1}) ` : ""}${shareText(sum, table.whole[number]?.[at], column)} of all`;
  });
  return `"${state.find}": ${sides.join("; ")}`;
}

function drawFlame() {
  const shown = current().documents.calltree;
  const table = shown.blocks.find((block) => block.table)?.table;
  if (!table || table.names.length === 0) return [el("h2", {}, "Flame Graph"), el("p", {}, "There is no time."), said(shown)];
  const { flame } = state;
  const columns = table.columns.map((column, at) => ({ column, at })).filter(({ column }) => column.id.startsWith("a."));
  const chosen = columns.find(({ column }) => metricOf(column) === flame.metric) ??
    columns.find(({ column }) => metricOf(column) === "total") ?? columns[0];
  const { at } = chosen;
  const menu = el("select", {
    "aria-label": "metric of the flame graph",
    onchange: (event) => go({ flame: { ...flame, metric: event.target.value } }),
  }, ...columns.map(({ column }) => el("option", {
    value: metricOf(column), selected: column === chosen.column,
  }, column.label)));
  const side = table.sides && flame.side >= 1 && flame.side <= table.values.length ? flame.side - 1 : undefined;
  const sides = table.values.map((_, number) => [number + 1, `(${number + 1})`]);
  const widthChoice = table.sides
    ? choice("width of a function", [[0, "the larger"], ...sides], side === undefined ? 0 : side + 1,
      (number) => go({ flame: { ...flame, side: number } }))
    : undefined;
  const widths = widthsOf(table, at, side);
  const steps = table.names.map((_, row) => (table.sides ? changeAt(table, at, row) : undefined));
  const addressed = rowOfStack(table, flame.frames);
  let root = addressed.row;
  let selected = root;
  let boxes = [];
  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-label": "Flame graph: arrow keys go from function to function, Enter enlarges one, Escape goes back, h goes to the hottest leaf",
  });
  const detail = el("p", { class: "detail", "aria-live": "polite" });
  const found = el("span", { class: "found", "aria-live": "polite" });
  const ways = el("p", { class: "ways" });
  /** Where the enlarged function leads: to itself by a link, to its neighbours, to its source. */
  const lead = () => {
    if (root === 0) return ways.replaceChildren();
    const name = table.names[root];
    ways.replaceChildren(...[
      el("a", { href: address() }, "Link to this stack"),
      hasNeighbours(name) && el("button", { class: "link", onclick: () => openFunction(name) }, "Callers and callees"),
      placeOf(name) && el("button", { class: "link", onclick: () => openSource(name) }, "Source"),
    ].filter(Boolean).flatMap((it) => [it, " "]));
  };
  const paint = () => {
    const place = canvas.parentElement;
    if (!place?.clientWidth) return;
    boxes = boxesOf(table, widths, root, 0.4 / place.clientWidth);
    const above = ancestors(table, root).slice(0, -1);
    const deepest = Math.max(0, ...boxes.map((box) => box.depth));
    const { context, width, height } = fitted(canvas, (above.length + deepest + 1) * BOX + 2);
    context.clearRect(0, 0, width, height);
    const box = (row, x, y, wide, isAbove) => {
      const name = table.names[row];
      const step = data.changes[steps[row]];
      const fill = step ? changeColour(step) : boxColour(name);
      const isDim = isAbove || (state.find && !matches(name));
      context.globalAlpha = isDim ? 0.35 : 1;
      context.fillStyle = fill;
      context.fillRect(x, y, Math.max(wide - 0.6, 0.4), BOX - 1);
      context.globalAlpha = 1;
      if (row === selected) {
        context.strokeStyle = colour("text");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), BOX - 3);
      }
      const letters = Math.floor((wide - 8) / 7.3);
      if (letters > 2) {
        // What is dimmed lets the page through, whose own text can be read on it.
        context.fillStyle = isDim ? colour("text") : textOn(fill);
        const word = changeWord(table, at, row);
        const named = word ? `${word}: ${name}` : name;
        const short = word && letters < word.length + 6 ? word : named;
        const label = short.length > letters ? `${short.slice(0, letters - 1)}…` : short;
        context.fillText(label, x + 4, y + BOX / 2);
      }
    };
    above.forEach((row, depth) => box(row, 0, depth * BOX, width, true));
    for (const { row, depth, start, width: part } of boxes) {
      box(row, start * width, (above.length + depth) * BOX, part * width, false);
    }
    detail.textContent = boxes.length > 0 ? boxText(table, chosen, selected, root)
      : `There is no ${chosen.column.label} here.`;
    found.textContent = state.find ? foundText(table, chosen) : "";
  };
  const zoom = (row) => {
    root = row;
    selected = row;
    flame.frames = stackOf(table, row);
    keep();
    lead();
    paint();
  };
  const hottest = () => {
    let row = root;
    for (;;) {
      let best;
      for (let child = row + 1; child < after(table, row); child = after(table, child)) {
        if (best === undefined || widths[child] > widths[best]) best = child;
      }
      if (best === undefined || !(widths[best] > 0)) return row;
      row = best;
    }
  };
  const hit = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - bounds.top) / BOX);
    const above = ancestors(table, root).slice(0, -1);
    if (line < above.length) return above[line];
    const x = (event.clientX - bounds.left) / bounds.width;
    const box = boxes.find((it) => it.depth === line - above.length && x >= it.start && x < it.start + it.width);
    return box?.row;
  };
  canvas.addEventListener("mousemove", (event) => {
    const row = hit(event);
    if (row !== undefined && row !== selected) { selected = row; paint(); }
  });
  canvas.addEventListener("click", (event) => {
    const row = hit(event);
    if (row !== undefined) zoom(row);
  });
  canvas.addEventListener("keydown", (event) => {
    const box = boxes.findIndex((it) => it.row === selected);
    const beside = (step) => {
      for (let next = box + step; boxes[next]; next += step) {
        if (boxes[next].depth === boxes[box].depth) return boxes[next].row;
      }
      return selected;
    };
    const moves = {
      ArrowDown: () => boxes[box + 1]?.depth > boxes[box]?.depth ? boxes[box + 1].row : selected,
      ArrowUp: () => { const all = ancestors(table, selected); return selected === root ? selected : all[all.length - 2] ?? selected; },
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      h: hottest,
    };
    if (event.key === "Enter") zoom(selected);
    else if (event.key === "Escape" || event.key === "Backspace") {
      const all = ancestors(table, root);
      zoom(all[all.length - 2] ?? 0);
    } else if (Object.hasOwn(moves, event.key)) { selected = moves[event.key](); paint(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  state.repaint = paint;
  requestAnimationFrame(paint);
  lead();
  const legend = table.sides
    ? [
      el("ul", { class: "legend" }, el("li", { class: "faint" }, "Change from (1):"),
        ...data.changes.map((step) => legendItem(changeColour(step), step.legend))),
      el("p", { class: "faint" }, `${data.sides.map((name, at) => `(${at + 1}) ${name}`).join(", ")}. `, side === undefined
        ? "A function is as wide as the larger of its times, or as its callees together where time has moved between them."
        : `A function is as wide as its time in (${side + 1}): what only others have is not drawn.`),
    ]
    : [];
  return [
    el("h2", {}, "Flame Graph"),
    el("p", {}, el("label", {}, "Metric ", menu), " ", widthChoice && "Width ", widthChoice, " ",
      el("button", { onclick: () => zoom(0) }, "Whole"), " ",
      el("button", { onclick: () => { selected = hottest(); paint(); canvas.focus(); } }, "Hot path"), " ", found),
    ...legend,
    addressed.isWhole ? undefined
      : el("p", { class: "warning" }, `This report has no stack ${flame.frames.map((it) => it.name).join(" > ")}: shown is what it has of it.`),
    detail,
    ways,
    el("div", { class: "drawing" }, canvas),
    said(shown),
  ];
}
