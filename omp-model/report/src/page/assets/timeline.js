// What threads did when.

/** Values with how often each comes, as one value for each column. */
function unrolled(runs) {
  const values = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let count = 0; count < runs[at + 1]; count++) values.push(runs[at]);
  }
  return values;
}

/** The rows of lists of which the second has distances. */
function bandsOf({ names, rows }) {
  let start = 0;
  return rows[0].map((name, at) => {
    start += rows[1][at];
    return { name: names[name], start, end: start + rows[2][at], number: rows[3][at], thread: rows[4][at], lane: rows[5][at] };
  });
}

/**
 * The parts of a column as the document has it: `#640b210-b150/s` is work for 640 and a barrier for 210 thousandths on a
 * CPU, a barrier for 150 off CPUs. A list of kinds, of which each activity has two (on a CPU, off), and parts of 1.
 */
function partsOf(text, letters) {
  const parts = [];
  const end = text.indexOf("/");
  const signs = [...(end < 0 ? text : text.slice(0, end))];
  for (let at = 0; at < signs.length;) {
    const isOff = signs[at] === "-";
    if (isOff) at++;
    const activity = letters.get(signs[at++]);
    let number = 0;
    for (; at < signs.length && signs[at] >= "0" && signs[at] <= "9"; at++) number = 10 * number + Number(signs[at]);
    parts.push([activity * 2 + (isOff ? 1 : 0), number / 1000]);
  }
  return parts;
}

/** The timeline's data, unpacked once. */
function timelineData() {
  if (timelineData.known) return timelineData.known;
  const { timeline } = data;
  const letters = new Map(timeline.activities.map(([, letter], at) => [letter, at]));
  const [, end] = timeline.range;
  const step = end / timeline.columns;
  const known = new Map();
  const threads = timeline.rows.map((row) => {
    const texts = unrolled(row.slots);
    // By kind: how many columns' time it has from the first column to each, so that any stretch is a difference.
    const sums = new Map();
    texts.forEach((text, at) => {
      if (!text) return;
      let parts = known.get(text);
      if (!parts) known.set(text, parts = partsOf(text, letters));
      for (const [kind, part] of parts) {
        if (!sums.has(kind)) sums.set(kind, new Float64Array(texts.length + 1));
        sums.get(kind)[at + 1] = part;
      }
    });
    for (const sum of sums.values()) {
      for (let at = 1; at < sum.length; at++) sum[at] += sum[at - 1];
    }
    // Stacked in this order: what was on a CPU first.
    const kinds = [...sums.keys()].sort((a, b) => a % 2 - b % 2 || a - b);
    const [gaps, lengths, activities, scheduling, regions] = row.intervals;
    const count = gaps.length;
    const starts = new Float64Array(count);
    const ends = new Float64Array(count);
    let last = 0;
    for (let at = 0; at < count; at++) {
      starts[at] = last + gaps[at];
      ends[at] = starts[at] + lengths[at];
      last = Math.max(last, ends[at]);
    }
    return {
      name: row.name, experiment: row.experiment, life: row.life, texts, kinds, sums: kinds.map((kind) => sums.get(kind)),
      starts, ends, activities, scheduling, regions,
    };
  });
  const stacks = Object.fromEntries(Object.entries(timeline.stacks).map(([mode, stacks]) =>
    [mode, { ...stacks, threads: timeline.rows.map((row) => unrolled(row.stacks[mode])) }]));
  timelineData.known = {
    threads, stacks, letters, end, step,
    regions: bandsOf(timeline.regions), tasks: bandsOf(timeline.tasks),
  };
  return timelineData.known;
}

/** What a thread has of its `at`-th kind in a stretch, as a part of it. Columns are numbers with fractions. */
function partBetween(thread, at, from, to) {
  const sum = thread.sums[at];
  const until = (column) => {
    const whole = Math.min(sum.length - 2, Math.floor(column));
    return sum[whole] + (column - whole) * (sum[whole + 1] - sum[whole]);
  };
  return (until(to) - until(from)) / (to - from);
}

/**
 * What a thread has in a column beside its listed intervals, by kind, as parts of the time that they leave: they are
 * drawn where they were.
 */
function besideIntervals(thread, column, step) {
  const [start, end] = [column * step, (column + 1) * step];
  const left = thread.kinds.map((_, at) => step * partBetween(thread, at, column, column + 1));
  let free = step;
  for (let at = firstAbove(thread.ends, start); at < thread.starts.length && thread.starts[at] < end; at++) {
    const time = Math.min(end, thread.ends[at]) - Math.max(start, thread.starts[at]);
    const kind = thread.kinds.indexOf(kindOf(thread, at));
    if (kind >= 0) left[kind] = Math.max(0, left[kind] - time);
    free -= time;
  }
  const all = left.reduce((sum, time) => sum + time, 0);
  return left.map((time) => (all > 0 ? time / Math.max(all, free) : 0));
}

/** The kind of a listed interval. */
function kindOf(thread, at) {
  return thread.activities[at] * 2 + (thread.scheduling[at] === 0 ? 0 : 1);
}

/** The look of a kind: `Look` of the reports. */
function lookOf(kind) {
  const [, , , offCpu] = data.timeline.activities[kind >> 1];
  return kind % 2 === 0 ? "solid" : offCpu;
}

/** A colour between two. */
function mixed(one, other, part) {
  const channels = [1, 3, 5].map((at) => {
    const [a, b] = [one, other].map((it) => Number.parseInt(it.slice(at, at + 2), 16));
    return Math.round(a * part + b * (1 - part)).toString(16).padStart(2, "0");
  });
  return `#${channels.join("")}`;
}

/** The two colours of a kind, which a hatched one has in turn. */
function coloursOf(kind) {
  const [, , own] = data.timeline.activities[kind >> 1];
  switch (lookOf(kind)) {
    case "solid": return [own, own];
    case "pale": return Array(2).fill(mixed(own, colour("paper"), 0.4));
    default: return [0.5, 0.1].map((part) => mixed(colour("text"), colour("paper"), part));
  }
}

/** `#rrggbb` as a number that a pixel of an image is. */
function pixel(text) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16));
  return (255 << 24 | blue << 16 | green << 8 | red) >>> 0;
}

/** The first of sorted values that is above one. */
function firstAbove(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Round times for an axis. */
function ticksOf(from, to, width) {
  const wanted = ((to - from) * 90) / width;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= wanted);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  const decimals = Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9));
  return ticks.map((at) => [at, `${(at / 1e9).toFixed(Math.min(9, decimals))} s`]);
}

/** The room for threads' names beside the columns. */
function labelWidth(width) {
  return Math.min(190, Math.round(width * 0.28));
}

/** The most and least lines of pixels of a thread, and about those of all. */
const ROW = { most: 96, least: 4, all: 560 };
const SCHEDULING = ["on a CPU", "waiting for a CPU", "asleep", "its virtual CPU taken away"];

function drawTimeline() {
  const known = timelineData();
  const { threads, end } = known;
  const view = state.timeline;
  // An address may be of another recording.
  view.from = Math.min(view.from, end - 1);
  view.to = Math.min(end, view.to ?? end);
  if (view.to <= view.from) view.to = end;
  view.row = Math.min(view.row, threads.length - 1);
  const canvas = el("canvas", {
    tabindex: 0, role: "application",
    "aria-label": "Timeline: + and - zoom, arrow keys move the cursor, shift and arrow keys the view, 0 shows all",
  });
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  const top = 22;
  const phases = data.timeline.phases;
  const lanes = Math.min(4, known.regions.reduce((most, band) => Math.max(most, band.lane + 1), 0));
  const head = top + (phases.length ? 16 : 0) + lanes * 14 + (data.timeline.losses.length ? 10 : 0);
  const rowHeight = Math.max(ROW.least, Math.min(ROW.most, Math.floor(ROW.all / threads.length)));
  const between = rowHeight > 8 ? 2 : 1;
  const image = document.createElement("canvas");

  /** The pixels of all threads: the states of each as shares of its height, or, where that is known, one. */
  const states = (width) => {
    const high = rowHeight - between;
    image.width = width;
    image.height = threads.length * rowHeight;
    const pixels = image.getContext("2d").createImageData(image.width, image.height);
    const words = new Uint32Array(pixels.data.buffer);
    const inks = data.timeline.activities.flatMap((_, at) => [2 * at, 2 * at + 1].map((kind) => coloursOf(kind).map(pixel)));
    const { step } = known;
    const span = (view.to - view.from) / width;
    threads.forEach((thread, row) => {
      const bottom = row * rowHeight + high - 1;
      /** Fills a line of a row from one part of its height to another. */
      const fill = (kind, x, from, to) => {
        const [ink, other] = inks[kind];
        for (let y = Math.round(from * high); y < Math.round(to * high); y++) {
          words[(bottom - y) * width + x] = ink === other || (x + y) % 6 < 2 ? ink : other;
        }
      };
      const stack = (x, partOf) => {
        let below = 0;
        thread.kinds.forEach((kind, at) => {
          const part = partOf(at);
          if (part > 0) fill(kind, x, below, Math.min(1, below + part));
          below += part;
        });
      };
      // Where a column of the grid is wider than a pixel, intervals are drawn where they were.
      const isNear = span < step;
      let [column, beside] = [-1, []];
      for (let x = 0; x < width; x++) {
        const from = (view.from + x * span) / step;
        if (!isNear) {
          stack(x, (at) => partBetween(thread, at, from, Math.min(data.timeline.columns, from + span / step)));
          continue;
        }
        if (Math.floor(from) !== column) {
          column = Math.min(data.timeline.columns - 1, Math.floor(from));
          beside = besideIntervals(thread, column, step);
        }
        stack(x, (at) => beside[at]);
      }
      if (!isNear) return;
      for (let at = firstAbove(thread.ends, view.from); at < thread.starts.length && thread.starts[at] < view.to; at++) {
        if (thread.ends[at] - thread.starts[at] < span / 2) continue;
        const first = Math.max(0, Math.round((thread.starts[at] - view.from) / span));
        const last = Math.min(width, Math.max(first + 1, Math.round((thread.ends[at] - view.from) / span)));
        for (let x = first; x < last; x++) fill(kindOf(thread, at), x, 0, 1);
      }
    });
    image.getContext("2d").putImageData(pixels, 0, 0);
  };

  const paint = () => {
    if (!canvas.parentElement?.clientWidth) return;
    const { context, width, height } = fitted(canvas, head + threads.length * rowHeight + 4);
    const label = labelWidth(width);
    const plot = Math.max(50, width - label);
    const x = (time) => label + ((time - view.from) / (view.to - view.from)) * plot;
    context.clearRect(0, 0, width, height);
    context.fillStyle = colour("text");
    for (const [time, text] of ticksOf(view.from, view.to, plot)) {
      context.fillRect(x(time), top - 5, 1, 5);
      context.fillText(text, Math.min(x(time) + 3, width - 60), top / 2);
    }
    context.save();
    context.beginPath();
    context.rect(label, 0, plot, height);
    context.clip();
    let line = top;
    const band = (start, end, height, fill, text) => {
      const [left, right] = [Math.max(x(start), label), Math.min(x(end), width)];
      if (right < label || left > width) return;
      context.fillStyle = fill;
      context.fillRect(left, line, Math.max(right - left - 0.5, 0.5), height - 1);
      if (right - left > 30 && text) {
        context.fillStyle = "#111";
        const letters = Math.floor((right - left - 6) / 7.3);
        context.fillText(text.slice(0, letters), left + 3, line + height / 2);
      }
    };
    if (phases.length) {
      for (const [name, start, length] of phases) band(start, start + length, 16, "#b8c7e8", name);
      line += 16;
    }
    for (const region of known.regions) {
      if (region.lane >= lanes || region.end < view.from || region.start > view.to) continue;
      if (x(region.end) - x(region.start) < 0.3) continue;
      const own = line;
      line += region.lane * 14;
      band(region.start, region.end, 14, "#a8d8c4", region.name);
      line = own;
    }
    line += lanes * 14;
    if (data.timeline.losses.length) {
      for (const [start, end] of data.timeline.losses) band(start, Math.max(end, start + 1), 10, "#d55e00", "?");
    }
    context.imageSmoothingEnabled = false;
    const wide = Math.round(plot);
    states(wide);
    context.drawImage(image, 0, 0, wide, image.height, label, head, plot, image.height);
    context.restore();
    context.fillStyle = colour("text");
    threads.forEach((thread, row) => {
      const y = head + row * rowHeight;
      const step = Math.ceil(13 / rowHeight);
      if (row === view.row || row % step === 0) {
        if (row === view.row) {
          context.fillStyle = colour("mark");
          context.fillRect(0, y - 3, label - 4, Math.max(rowHeight, 14));
          context.fillStyle = colour("text");
        }
        if (row === view.row || Math.abs(row - view.row) >= step) {
          context.fillText(thread.name.slice(0, Math.floor((label - 6) / 7.3)), 2, y + rowHeight / 2);
        }
      }
    });
    if (view.time !== undefined && view.time >= view.from && view.time <= view.to) {
      context.strokeStyle = colour("text");
      context.strokeRect(x(view.time), top - 4, 0.5, height - top);
      const y = head + view.row * rowHeight;
      context.strokeRect(label, y, plot, rowHeight);
    }
    detail.replaceChildren(...atCursor(known, view));
  };
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; paint(); });
  };
  const show = (from, to) => {
    const length = Math.max(100, Math.min(end, to - from));
    view.from = Math.min(Math.max(0, from), end - length);
    view.to = view.from + length;
    soon();
  };
  const zoom = (factor, around) => {
    const part = (around - view.from) / (view.to - view.from);
    const length = (view.to - view.from) * factor;
    show(around - part * length, around + (1 - part) * length);
  };
  const timeAt = (event) => {
    const bounds = canvas.getBoundingClientRect();
    const label = labelWidth(bounds.width);
    const part = (event.clientX - bounds.left - label) / Math.max(50, bounds.width - label);
    return view.from + Math.min(1, Math.max(0, part)) * (view.to - view.from);
  };
  const point = (event) => {
    const row = Math.floor((event.clientY - canvas.getBoundingClientRect().top - head) / rowHeight);
    if (row >= 0 && row < threads.length) view.row = row;
    view.time = Math.round(timeAt(event));
    // A click is no step back, but what it shows has an address.
    history.replaceState(null, "", address());
    soon();
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey) {
      const step = ((view.to - view.from) * Math.sign(event.deltaY || event.deltaX)) / 10;
      show(view.from + step, view.to + step);
    } else {
      zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
    }
  }, { passive: false });
  let drag;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const moved = event.clientX - drag.x;
    drag.moved ||= Math.abs(moved) > 3;
    const { width } = canvas.getBoundingClientRect();
    const step = (-moved / (width - labelWidth(width))) * (drag.to - drag.from);
    if (drag.moved) show(drag.from + step, drag.to + step);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) point(event);
    drag = undefined;
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.25, timeAt(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = (view.to - view.from) / (event.shiftKey ? 4 : 100);
    const middle = view.time ?? (view.from + view.to) / 2;
    const move = (by) => {
      if (event.shiftKey) return show(view.from + by, view.to + by);
      view.time = Math.min(end, Math.max(0, middle + by));
      if (view.time < view.from || view.time > view.to) show(view.from + by * 50, view.to + by * 50);
      return soon();
    };
    const turn = (by) => { view.row = Math.min(threads.length - 1, Math.max(0, view.row + by)); view.time ??= middle; soon(); };
    const keys = {
      ArrowLeft: () => move(-step), ArrowRight: () => move(step),
      ArrowUp: () => turn(-1), ArrowDown: () => turn(1),
      "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "-": () => zoom(2, middle),
      0: () => show(0, end),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    keys[event.key]();
    event.preventDefault();
    event.stopPropagation();
  });
  state.repaint = paint;
  requestAnimationFrame(paint);
  const isSeen = (kind) => threads.some((thread) => thread.kinds.includes(kind));
  const all = data.timeline.activities.map((_, at) => at);
  const legend = all.filter((at) => isSeen(2 * at) || (isSeen(2 * at + 1) && lookOf(2 * at + 1) === "pale"))
    .map((at) => legendItem(data.timeline.activities[at][2], data.timeline.activities[at][0]));
  const offCpu = [["pale", "pale: waiting off CPUs"], ["hatched", "hatched: work without a CPU"]]
    .map(([look, words]) => [all.map((at) => 2 * at + 1).find((kind) => isSeen(kind) && lookOf(kind) === look), words])
    .filter(([kind]) => kind !== undefined)
    .map(([kind, words]) => {
      const [ink, other] = coloursOf(kind);
      return legendItem(ink === other ? ink : `repeating-linear-gradient(135deg, ${ink} 0 2px, ${other} 2px 5px)`, words);
    });
  const { shortest } = data.timeline;
  const notes = [
    `A column is ${lengthText(known.step)} wide and has the states of that time as shares of its height: those on a CPU below, those off CPUs above.`,
    "Of each second a thread's columns have together what the tables have. Where in it that was, intervals say that are listed; of shorter ones samples, and without samples it is divided in proportion.",
    shortest > 0 ? `Intervals up to ${lengthText(shortest)} are merged into columns at every zoom.` : undefined,
    ...[["instances of regions", data.timeline.regions], ["pieces of tasks", data.timeline.tasks]]
      .map(([what, { left_out: count }]) => count > 0 ? `${count} ${what}, the shortest, are left out.` : undefined),
    ...data.timeline.losses.map(([, , line]) => line).filter((line, at, all) => all.indexOf(line) === at),
  ];
  return [
    el("h2", {}, "Timeline"),
    el("p", {}, el("button", { onclick: () => zoom(0.5, (view.from + view.to) / 2) }, "Zoom in"), " ",
      el("button", { onclick: () => zoom(2, (view.from + view.to) / 2) }, "Zoom out"), " ",
      el("button", { onclick: () => show(0, end) }, "Whole"), " ",
      el("span", { class: "faint" }, "wheel: zoom; drag: move; click: what the thread did there")),
    el("ul", { class: "legend" }, ...legend, ...offCpu),
    el("div", { class: "drawing" }, canvas),
    detail,
    el("ul", { class: "said" }, ...notes.filter(Boolean).map((text) => el("li", {}, text))),
  ];
}

/** The parts of a column in words. */
function columnText(known, thread, column) {
  const text = thread.texts[column];
  const parts = partsOf(text, known.letters).sort((a, b) => b[1] - a[1]).map(([kind, part]) =>
    `${data.timeline.activities[kind >> 1][0]} ${numberText(100 * part, 1)} %${kind % 2 ? " off CPUs" : ""}`);
  const how = { s: "placed by samples", p: "in proportion to the sums of its second" }[text.split("/")[1]] ?? "measured";
  return `in this column: ${parts.join(", ")} (${how})`;
}

/** What each of the other threads did at a moment, as far as listed intervals tell: how many did what. */
function othersAt(known, row, time) {
  const counts = new Map();
  known.threads.forEach((thread, other) => {
    if (other === row || thread.experiment !== known.threads[row].experiment) return;
    if (time < thread.life[0] || time >= thread.life[1]) return;
    const at = firstAbove(thread.ends, time);
    const isListed = at < thread.starts.length && thread.starts[at] <= time;
    const words = isListed
      ? `${data.timeline.activities[thread.activities[at]][0]} ${SCHEDULING[thread.scheduling[at]]}`
      : "several things, too short to be listed";
    counts.set(words, (counts.get(words) ?? 0) + 1);
  });
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.map(([words, count]) => `${count} ${words}`).join("; ");
}

/** What a thread did at the cursor: lines, and the frames of its stack, which lead to their functions and lines. */
function atCursor(known, { row, time }) {
  const thread = known.threads[row];
  if (time === undefined || !thread) return [el("p", {}, "Click on a thread to see what it did.")];
  const said = [`${thread.name} at ${(time / 1e9).toFixed(6)} s`];
  if (time < thread.life[0] || time > thread.life[1]) return [el("pre", {}, `${said[0]}: the thread does not live here`)];
  const column = Math.min(thread.texts.length - 1, Math.floor(time / known.step));
  const at = firstAbove(thread.ends, time);
  if (at < thread.starts.length && thread.starts[at] <= time) {
    const words = data.timeline.activities[thread.activities[at]][0];
    said.push(`${words} for ${lengthText(thread.ends[at] - thread.starts[at])} from ${(thread.starts[at] / 1e9).toFixed(6)} s, ${SCHEDULING[thread.scheduling[at]]}`);
  }
  if (thread.texts[column]) said.push(columnText(known, thread, column));
  for (const [start, end, line] of data.timeline.losses) {
    if (start <= time && time <= end) said.push(line);
  }
  // Of several experiments, those of its own are told.
  const isOwn = (row) => known.threads[row].experiment === thread.experiment;
  const inside = (band) => band.start <= time && time < band.end && isOwn(band.thread);
  for (const [name, start, length] of data.timeline.phases) {
    if (start <= time && time < start + length) said.push(`in phase ${name}`);
  }
  for (const band of known.regions.filter(inside)) {
    said.push(`in instance ${band.number || "?"} of ${band.name}, ${lengthText(band.end - band.start)} from ${(band.start / 1e9).toFixed(6)} s`);
  }
  for (const band of known.tasks.filter((it) => it.thread === row && inside(it))) {
    said.push(`in a task of ${band.name}, ${lengthText(band.end - band.start)} from ${(band.start / 1e9).toFixed(6)} s`);
  }
  for (const [holder, mutex, place, start, length] of data.timeline.holds) {
    if (start > time || start + length <= time || !isOwn(holder)) continue;
    said.push(`${holder === row ? "holds" : `${known.threads[holder].name} holds`} ${mutex || "a mutex"}, acquired at ${place}, ${lengthText(length)} from ${(start / 1e9).toFixed(6)} s`);
  }
  const others = othersAt(known, row, time);
  if (others) said.push(`the other threads then: ${others}`);
  const stacks = known.stacks[state.mode];
  let frame = stacks.threads[row][column];
  said.push(frame ? "most samples of this column have the stack" : "no sample in this column");
  const frames = [];
  while (frame) {
    const [caller, number, line] = stacks.frames[frame];
    const name = stacks.names[number];
    const place = placeOf(name);
    frames.push(el("li", {},
      hasNeighbours(name) ? el("button", { class: "link", onclick: () => openFunction(name) }, name) : name,
      line ? `:${line}` : "", " ",
      place && el("button", {
        class: "link faint", "aria-label": `source of ${name}`,
        onclick: () => go({ view: "source", file: place[0], line: line || place[1] }),
      }, "source")));
    frame = caller;
  }
  return [el("pre", {}, said.join("\n")), el("ol", { class: "stack" }, ...frames)];
}
