// The call tree as boxes: as wide as their time, callers above.

const BOX = 19;

/** A row's time in each experiment. */
function timesOf(table, at, row) {
  return table.values.map((side) => Math.max(0, numberOf(side[at]?.[row]) || 0));
}

/** A row's time in all experiments together, so that what only one of them has is drawn. */
function widthOf(table, at, row) {
  return timesOf(table, at, row).reduce((sum, time) => sum + time, 0);
}

/** A tree's rows as boxes under `root`: where they begin and end, as parts of 1. */
function boxesOf(table, at, root, least) {
  const time = (row) => widthOf(table, at, row);
  const whole = time(root);
  const boxes = [];
  if (whole <= 0) return boxes;
  const starts = [];
  const end = after(table, root);
  for (let row = root; row < end;) {
    const depth = table.depths[row] - table.depths[root];
    const start = depth === 0 ? 0 : starts[depth];
    const width = time(row) / whole;
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

/** What compared experiments have at a row: nothing in the first ("new"), nothing in the others ("gone"). */
function changeWord(table, at, row) {
  if (!table.sides) return "";
  const [first, ...others] = timesOf(table, at, row);
  if (first < NOTHING) return "new";
  return others.every((time) => time < NOTHING) ? "gone" : "";
}

/** Where the difference of experiments is drawn: blue for less, orange for more than in the first. */
function changeColour(table, at, row) {
  const [first, ...others] = timesOf(table, at, row);
  const other = others.reduce((sum, time) => sum + time, 0) / Math.max(1, others.length);
  const whole = Math.max(...timesOf(table, at, 0), 1e-9);
  const change = (other - first) / whole;
  if (Math.abs(change) < 0.001) return isDark() ? "#777777" : "#eeeeee";
  if (change < 0) return change < -0.05 ? "#0072b2" : "#a6d8f5";
  return change > 0.05 ? "#e69f00" : "#f5cf8a";
}

function drawFlame() {
  const shown = current().documents.calltree;
  const table = shown.blocks.find((block) => block.table)?.table;
  if (!table || table.names.length === 0) return [el("h2", {}, "Flame Graph"), el("p", {}, "There is no time."), said(shown)];
  const columns = table.columns.map((column, at) => ({ column, at })).filter(({ column }) => column.id.startsWith("a."));
  const chosen = columns.find(({ column }) => metricOf(column) === state.flameMetric) ??
    columns.find(({ column }) => metricOf(column) === "total") ?? columns[0];
  const at = chosen.at;
  const menu = el("select", {
    "aria-label": "metric of the flame graph",
    onchange: (event) => { state.flameMetric = event.target.value; draw(); },
  }, ...columns.map(({ column }) => el("option", {
    value: metricOf(column), selected: column === chosen.column,
  }, column.label)));
  let root = Math.min(state.flameRoot ?? 0, table.names.length - 1);
  let selected = root;
  let boxes = [];
  const text = (row) => {
    const time = cellText(table.values[0][at][row], chosen.column.decimals);
    const of = (whole) => {
      const part = widthOf(table, at, row) / widthOf(table, at, whole);
      return Number.isFinite(part) ? numberText(100 * part, 2) : "-";
    };
    const word = changeWord(table, at, row);
    const how = state.compare === "on" ? "delta" : state.compare;
    const others = table.sides ? table.values.slice(1) : [];
    const other = others.map((side) => {
      const told = comparedText(how, table.values[0][at][row] ?? 0, side[at]?.[row] ?? 0, 3);
      return told === word ? "" : `, ${told}`;
    }).join("") + (word ? `, ${word}` : "");
    return `${table.names[row]}${table.tails?.[row] ?? ""}: ${time} ${chosen.column.unit}${other}, ` +
      `${of(0)} % of all${root > 0 ? `, ${of(root)} % of what is shown` : ""}`;
  };
  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-label": "Flame graph: arrow keys go from function to function, Enter enlarges one, Escape goes back, h goes to the hottest leaf",
  });
  const detail = el("p", { class: "detail", "aria-live": "polite" });
  const found = el("span", { class: "faint" });
  const paint = () => {
    const place = canvas.parentElement;
    if (!place?.clientWidth) return;
    boxes = boxesOf(table, at, root, 0.4 / place.clientWidth);
    const above = ancestors(table, root).slice(0, -1);
    const deepest = Math.max(0, ...boxes.map((box) => box.depth));
    const { context, width, height } = fitted(canvas, (above.length + deepest + 1) * BOX + 2);
    context.clearRect(0, 0, width, height);
    const box = (row, x, y, wide, isAbove) => {
      const name = table.names[row];
      context.globalAlpha = isAbove || (state.find && !matches(name)) ? 0.35 : 1;
      context.fillStyle = table.sides ? changeColour(table, at, row) : boxColour(name);
      context.fillRect(x, y, Math.max(wide - 0.6, 0.4), BOX - 1);
      context.globalAlpha = 1;
      if (row === selected) {
        context.strokeStyle = colour("text");
        context.lineWidth = 2;
        context.strokeRect(x + 1, y + 1, Math.max(wide - 2, 1), BOX - 3);
      }
      const letters = Math.floor((wide - 8) / 7.3);
      if (letters > 2) {
        context.fillStyle = "#111";
        const word = changeWord(table, at, row);
        const named = word ? `${word}: ${name}` : name;
        const label = named.length > letters ? `${named.slice(0, letters - 1)}…` : named;
        context.fillText(label, x + 4, y + BOX / 2);
      }
    };
    above.forEach((row, depth) => box(row, 0, depth * BOX, width, true));
    for (const { row, depth, start, width: part } of boxes) {
      box(row, start * width, (above.length + depth) * BOX, part * width, false);
    }
    detail.textContent = text(selected);
    if (state.find) {
      let [sum, last] = [0, -1];
      for (let row = 0; row < table.names.length; row++) {
        if (row < last || !matches(table.names[row])) continue;
        sum += widthOf(table, at, row);
        last = after(table, row);
      }
      const whole = widthOf(table, at, 0);
      found.textContent = `"${state.find}": ${numberText(sum, 3)} ${chosen.column.unit}, ${whole ? numberText((100 * sum) / whole, 2) : "-"} %`;
    } else {
      found.textContent = "";
    }
  };
  const zoom = (row) => {
    root = row;
    selected = row;
    state.flameRoot = row;
    paint();
  };
  const hottest = () => {
    let row = root;
    for (;;) {
      let best;
      for (let child = row + 1; child < after(table, row); child = after(table, child)) {
        if (best === undefined || widthOf(table, at, child) > widthOf(table, at, best)) best = child;
      }
      if (best === undefined || !(widthOf(table, at, best) > 0)) return row;
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
  return [
    el("h2", {}, "Flame Graph"),
    el("p", {}, el("label", {}, "Metric ", menu), " ",
      el("button", { onclick: () => zoom(0) }, "Whole"), " ",
      el("button", { onclick: () => { selected = hottest(); paint(); canvas.focus(); } }, "Hot path"), " ", found),
    detail,
    el("div", { class: "drawing" }, canvas),
    said(shown),
  ];
}
