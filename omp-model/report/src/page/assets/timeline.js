// What threads did when.

/** What `run_lengths` wrote, as one value for each column. */
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

/** The timeline's data, unpacked once. */
function timelineData() {
  if (timelineData.known) return timelineData.known;
  const { timeline } = data;
  const letters = new Map(timeline.activities.map(([, letter], at) => [letter, at]));
  const threads = timeline.threads.map((name, thread) => {
    const texts = unrolled(timeline.slots[thread]);
    const main = new Int8Array(texts.length).fill(-1);
    const running = new Uint8Array(texts.length);
    texts.forEach((text, at) => {
      if (!text) return;
      main[at] = letters.get([...text][0]);
      running[at] = Number.parseInt(text.slice(text.lastIndexOf("/") + 1), 10);
    });
    const [gaps, lengths, activities, scheduling, regions] = timeline.intervals[thread];
    const count = gaps.length;
    const starts = new Float64Array(count);
    const ends = new Float64Array(count);
    let end = 0;
    for (let at = 0; at < count; at++) {
      starts[at] = end + gaps[at];
      ends[at] = starts[at] + lengths[at];
      end = Math.max(end, ends[at]);
    }
    return { name, life: timeline.lives[thread], texts, main, running, starts, ends, activities, scheduling, regions };
  });
  const stacks = Object.fromEntries(Object.entries(timeline.stacks).map(([mode, stacks]) =>
    [mode, { ...stacks, threads: stacks.threads.map(unrolled) }]));
  timelineData.known = {
    threads, stacks, end: timeline.end, step: timeline.end / timeline.columns,
    regions: bandsOf(timeline.regions), tasks: bandsOf(timeline.tasks),
  };
  return timelineData.known;
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

/**
 * The activity of most of some columns, the sum of their parts on a CPU, and in how many the thread lived.
 * `counts` has a place for each activity, all zero.
 */
function mostOf(main, running, first, last, counts) {
  let [best, runs, lived] = [-1, 0, 0];
  for (let at = first; at < last; at++) {
    const activity = main[at];
    if (activity < 0) continue;
    counts[activity]++;
    lived++;
    runs += running[at];
    if (best < 0 || counts[activity] > counts[best]) best = activity;
  }
  for (let at = first; at < last; at++) {
    if (main[at] >= 0) counts[main[at]] = 0;
  }
  return [best, runs, lived];
}

const LABEL = 190;
const SCHEDULING = ["on a CPU", "waiting for a CPU", "asleep", "its virtual CPU taken away"];

function drawTimeline() {
  const known = timelineData();
  const { threads, end } = known;
  const view = state.timeline ??= { from: 0, to: end, row: 0, time: undefined };
  const colours = Uint32Array.from(data.timeline.activities, ([, , colour]) => pixel(colour));
  const canvas = el("canvas", {
    tabindex: 0, role: "application",
    "aria-label": "Timeline: + and - zoom, arrow keys move the cursor, shift and arrow keys the view, 0 shows all",
  });
  const detail = el("pre", { class: "detail", "aria-live": "polite" });
  const top = 22;
  const phases = data.timeline.spans;
  const lanes = Math.min(4, known.regions.reduce((most, band) => Math.max(most, band.lane + 1), 0));
  const head = top + (phases.length ? 16 : 0) + lanes * 14 + (data.timeline.losses.length ? 10 : 0);
  const rowHeight = Math.max(4, Math.min(22, Math.floor(560 / threads.length)));
  const image = document.createElement("canvas");

  /** Two lines of pixels for each thread: its states, and where it was on a CPU. */
  const states = (width) => {
    image.width = width;
    image.height = threads.length * 2;
    const pixels = image.getContext("2d").createImageData(width, threads.length * 2);
    const words = new Uint32Array(pixels.data.buffer);
    const span = (view.to - view.from) / width;
    const onCpu = pixel(isDark() ? "#dddddd" : "#333333");
    // The first column of the grid under each pixel, which is the same for all threads.
    const columns = data.timeline.columns;
    const firsts = Int32Array.from({ length: width + 1 }, (_, x) =>
      Math.min(columns - 1, Math.floor((view.from + x * span) / known.step)));
    const counts = new Uint16Array(colours.length);
    threads.forEach(({ main, running, ...thread }, row) => {
      const base = row * 2 * width;
      for (let x = 0; x < width; x++) {
        const first = firsts[x];
        const last = Math.max(first + 1, firsts[x + 1]);
        let best = main[first];
        let runs = running[first];
        let lived = 1;
        if (last > first + 1) {
          [best, runs, lived] = mostOf(main, running, first, last, counts);
        }
        if (best < 0) continue;
        words[base + x] = colours[best];
        words[base + width + x] = runs >= 50 * lived ? onCpu : 0;
      }
      // Where a column of the grid is wider than a pixel, exact intervals lie over it.
      if (span >= known.step) return;
      for (let at = firstAbove(thread.ends, view.from); at < thread.starts.length && thread.starts[at] < view.to; at++) {
        if (thread.ends[at] - thread.starts[at] < span / 2) continue;
        const first = Math.max(0, Math.round((thread.starts[at] - view.from) / span));
        const last = Math.min(width, Math.max(first + 1, Math.round((thread.ends[at] - view.from) / span)));
        words.fill(colours[thread.activities[at]], base + first, base + last);
        words.fill(thread.scheduling[at] === 0 ? onCpu : 0, base + width + first, base + width + last);
      }
    });
    image.getContext("2d").putImageData(pixels, 0, 0);
  };

  const paint = () => {
    if (!canvas.parentElement?.clientWidth) return;
    const { context, width, height } = fitted(canvas, head + threads.length * rowHeight + 4);
    const plot = Math.max(50, width - LABEL);
    const x = (time) => LABEL + ((time - view.from) / (view.to - view.from)) * plot;
    context.clearRect(0, 0, width, height);
    context.fillStyle = colour("text");
    for (const [time, text] of ticksOf(view.from, view.to, plot)) {
      context.fillRect(x(time), top - 5, 1, 5);
      context.fillText(text, Math.min(x(time) + 3, width - 60), top / 2);
    }
    context.save();
    context.beginPath();
    context.rect(LABEL, 0, plot, height);
    context.clip();
    let line = top;
    const band = (start, end, height, fill, text) => {
      const [left, right] = [Math.max(x(start), LABEL), Math.min(x(end), width)];
      if (right < LABEL || left > width) return;
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
    const thin = Math.max(1, Math.round(rowHeight / 5));
    threads.forEach((_, row) => {
      const y = head + row * rowHeight;
      context.drawImage(image, 0, 2 * row, wide, 1, LABEL, y, plot, rowHeight - thin);
      context.drawImage(image, 0, 2 * row + 1, wide, 1, LABEL, y + rowHeight - thin, plot, thin);
    });
    context.restore();
    context.fillStyle = colour("text");
    threads.forEach((thread, row) => {
      const y = head + row * rowHeight;
      const step = Math.ceil(13 / rowHeight);
      if (row === view.row || row % step === 0) {
        if (row === view.row) {
          context.fillStyle = colour("mark");
          context.fillRect(0, y - 3, LABEL - 4, Math.max(rowHeight, 14));
          context.fillStyle = colour("text");
        }
        if (row === view.row || Math.abs(row - view.row) >= step) {
          context.fillText(thread.name.slice(0, 25), 2, y + rowHeight / 2);
        }
      }
    });
    if (view.time !== undefined && view.time >= view.from && view.time <= view.to) {
      context.strokeStyle = colour("text");
      context.strokeRect(x(view.time), top - 4, 0.5, height - top);
      const y = head + view.row * rowHeight;
      context.strokeRect(LABEL, y, plot, rowHeight);
    }
    detail.textContent = atCursor(known, view);
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
    const part = (event.clientX - bounds.left - LABEL) / Math.max(50, bounds.width - LABEL);
    return view.from + Math.min(1, Math.max(0, part)) * (view.to - view.from);
  };
  const point = (event) => {
    const row = Math.floor((event.clientY - canvas.getBoundingClientRect().top - head) / rowHeight);
    if (row >= 0 && row < threads.length) view.row = row;
    view.time = timeAt(event);
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
    const width = canvas.getBoundingClientRect().width - LABEL;
    const step = (-moved / width) * (drag.to - drag.from);
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
  const legend = data.timeline.activities
    .filter((_, at) => threads.some((thread) => thread.main.includes(at)))
    .map(([words, , fill]) => legendItem(fill, words));
  const { shortest } = data.timeline;
  const notes = [
    `A column is ${lengthText(known.step)} wide and has the colour of the state with most of its time; the line under it is drawn where the thread was on a CPU for at least half of it.`,
    "What a column has is measured where all of it is listed intervals or whole seconds; else it is inferred from samples, or from the sums of its second.",
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
    el("ul", { class: "legend" }, ...legend),
    el("div", { class: "drawing" }, canvas),
    detail,
    el("ul", { class: "said" }, ...notes.filter(Boolean).map((text) => el("li", {}, text))),
  ];
}

/** What a thread did at the cursor. */
function atCursor(known, { row, time }) {
  const thread = known.threads[row];
  if (time === undefined || !thread) return "Click on a thread to see what it did.";
  const said = [`${thread.name} at ${(time / 1e9).toFixed(6)} s`];
  if (time < thread.life[0] || time > thread.life[1]) return `${said[0]}: the thread does not live here`;
  const column = Math.min(thread.texts.length - 1, Math.floor(time / known.step));
  const at = firstAbove(thread.ends, time);
  if (at < thread.starts.length && thread.starts[at] <= time) {
    const words = data.timeline.activities[thread.activities[at]][0];
    said.push(`${words} for ${lengthText(thread.ends[at] - thread.starts[at])} from ${(thread.starts[at] / 1e9).toFixed(6)} s, ${SCHEDULING[thread.scheduling[at]]}`);
  } else if (thread.texts[column]) {
    const [states, running] = thread.texts[column].split("/");
    const parts = [...states.matchAll(/(\D)(\d+)/gu)].map(([, letter, percent]) => {
      const words = data.timeline.activities.find((activity) => activity[1] === letter)?.[0];
      return `${words} ${percent} %`;
    });
    const how = { s: "inferred from samples", p: "inferred from the sums of its second" }[running.at(-1)] ?? "measured";
    said.push(`in this column: ${parts.join(", ")}; on a CPU ${Number.parseInt(running, 10)} % (${how})`);
  }
  const inside = (band) => band.start <= time && time < band.end;
  for (const [name, start, length] of data.timeline.spans) {
    if (start <= time && time < start + length) said.push(`in phase ${name}`);
  }
  for (const band of known.regions.filter(inside)) {
    said.push(`in instance ${band.number || "?"} of ${band.name}, ${lengthText(band.end - band.start)} from ${(band.start / 1e9).toFixed(6)} s`);
  }
  for (const band of known.tasks.filter((it) => it.thread === row && inside(it))) {
    said.push(`in a task of ${band.name}, ${lengthText(band.end - band.start)} from ${(band.start / 1e9).toFixed(6)} s`);
  }
  const stacks = known.stacks[state.mode];
  let frame = stacks.threads[row][column];
  said.push(frame ? "most samples of this column have the stack" : "no sample in this column");
  while (frame) {
    const [caller, name] = stacks.frames[frame];
    said.push(`  ${stacks.names[name]}`);
    frame = caller;
  }
  return said.join("\n");
}
