// The page: views, switches, keys.

let data;

const state = {
  view: "overview", mode: "user", compare: undefined, metrics: new Set(), find: "", function: undefined,
  file: 0, line: 0, flame: { metric: undefined, side: 0, frames: [] },
  timeline: { row: 0, time: undefined, from: 0, to: undefined }, sorts: new Map(), open: new Map(),
  repaint: undefined,
};

/** The documents of the mode in force. */
function current() {
  return data.variants[state.mode];
}

/** The views that have something to show: those without a document are drawn. */
function views() {
  return data.views.filter(([, view]) => {
    const blocks = current().documents[view]?.blocks;
    return !blocks || blocks.some((block) => block.table?.names.length || block.texts || block.lines);
  });
}

/**
 * The address of what is shown: `#flame?metric=total&frame=main&frame=solve`. It has what a view needs to be
 * shown again, but for what is so at first.
 */
function address() {
  const { view, mode, compare, flame, timeline } = state;
  const words = new URLSearchParams();
  const add = (name, value, first) => { if (value !== undefined && value !== first) words.append(name, value); };
  add("mode", mode, data.mode);
  add("compare", compare, data.compares[0]);
  if (view === "callers-callees") add("function", state.function);
  if (view === "source") {
    add("file", state.file, 0);
    add("line", state.line, 0);
  }
  if (view === "flame") {
    add("metric", flame.metric);
    add("width", flame.side, 0);
    // The second function of a name that its caller calls is `frame2`.
    flame.frames.forEach(({ name, number }) => add(number > 1 ? `frame${number}` : "frame", name));
  }
  if (view === "timeline") {
    add("thread", timeline.row, 0);
    add("time", timeline.time);
    add("from", Math.round(timeline.from), 0);
    add("to", timeline.to && Math.round(timeline.to), data.timeline.range[1]);
  }
  const text = words.toString();
  return `#${view}${text ? `?${text}` : ""}`;
}

/** Shows what the address says. */
function follow() {
  const [view, text] = location.hash.slice(1).split(/\?(.*)/s);
  const words = new URLSearchParams(text);
  const of = (name, choices) => (choices.includes(words.get(name)) ? words.get(name) : choices[0]);
  const number = (name) => Number.parseInt(words.get(name), 10) || 0;
  const frames = [...words].filter(([name]) => /^frame\d*$/.test(name))
    .map(([word, name]) => ({ name, number: Number(word.slice("frame".length)) || 1 }));
  Object.assign(state, {
    view: view || "overview",
    mode: of("mode", [data.mode, ...data.modes]),
    compare: of("compare", data.compares),
    function: words.get("function") ?? undefined,
    file: number("file"),
    line: number("line"),
    timeline: {
      row: number("thread"), time: words.has("time") ? number("time") : undefined,
      from: number("from"), to: number("to") || undefined,
    },
    flame: { metric: words.get("metric") ?? undefined, side: number("width"), frames },
  });
  draw();
}

/** Makes the address that of what is shown: a step that the browser's back button undoes. */
function keep() {
  if (address() !== location.hash) history.pushState(null, "", address());
}

/** Changes what is shown. */
function go(change) {
  Object.assign(state, change);
  keep();
  draw();
}

function drawView() {
  const key = `${state.view} ${state.mode} ${state.compare}`;
  state.repaint = undefined;
  switch (state.view) {
    case "timeline": return drawTimeline();
    case "flame": return drawFlame();
    case "source": return drawSource(key);
    case "callers-callees": return drawNeighbours(key);
    default: return drawDocument(current().documents[state.view], key);
  }
}

/** One of a few choices. */
function choice(label, words, chosen, choose) {
  return el("span", { class: "choice", role: "group", "aria-label": label },
    ...words.map(([word, text]) => el("button", {
      "aria-pressed": String(word === chosen), onclick: () => choose(word),
    }, text)));
}

const COMPARES = { on: "side by side", delta: "difference", ratio: "ratio", off: "alone" };

function metricsMenu() {
  const boxes = data.metrics.map(([id, label]) => {
    const box = el("input", {
      type: "checkbox", checked: state.metrics.has(id),
      onchange: () => {
        if (box.checked) state.metrics.add(id);
        else state.metrics.delete(id);
        state.sorts.clear();
        drawMain();
      },
    });
    return el("label", {}, box, label);
  });
  return el("details", { class: "menu" }, el("summary", {}, "Metrics"), el("div", {}, ...boxes));
}

const find = el("input", {
  type: "search", placeholder: "Search names ( / )", "aria-label": "search names",
  oninput: () => {
    state.find = find.value;
    if (state.repaint) state.repaint();
    else drawMain();
  },
});

function drawMain() {
  const place = document.getElementById("view");
  place.replaceChildren(...drawView().filter(Boolean));
}

function draw() {
  const shown = views();
  if (!shown.some(([, view]) => view === state.view)) state.view = "overview";
  const tabs = shown.map(([title, view]) => el("button", {
    role: "tab", id: `tab-${view}`, "aria-selected": String(view === state.view), "aria-controls": "view",
    tabindex: view === state.view ? 0 : -1, onclick: () => go({ view }),
  }, title));
  const compares = data.compares.map((word) => [word, COMPARES[word]]);
  const head = el("header", {},
    el("h1", {}, data.title),
    choice("stacks", [["user", "User mode"], ["machine", "Machine mode"]], state.mode,
      (mode) => go({ mode })),
    compares.length > 1 ? choice("comparison", compares, state.compare, (compare) => go({ compare })) : undefined,
    metricsMenu(), find);
  const nav = el("nav", { role: "tablist", "aria-label": "views", onkeydown: tabKeys }, ...tabs);
  const focused = document.activeElement?.id;
  const page = document.getElementById("page");
  const caveats = data.caveats.map((text) => el("p", { class: "warning" }, text));
  page.replaceChildren(...caveats, head, nav, el("section", { id: "view", role: "tabpanel", "aria-labelledby": `tab-${state.view}` }),
    el("footer", { class: "faint" }, `Parallax ${data.version}`));
  if (focused?.startsWith("tab-")) document.getElementById(`tab-${state.view}`)?.focus();
  drawMain();
  page.setAttribute("aria-busy", "false");
}

function tabKeys(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const shown = views();
  const at = shown.findIndex(([, view]) => view === state.view);
  go({ view: shown[(at + step + shown.length) % shown.length][1] });
  document.getElementById(`tab-${state.view}`)?.focus();
  event.preventDefault();
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches?.("input, select, textarea");
  if (!data || event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping) {
    if (event.key === "Escape" && event.target === find) {
      find.value = "";
      find.dispatchEvent(new Event("input"));
      find.blur();
    }
    return;
  }
  if (event.key === "/") {
    find.focus();
    event.preventDefault();
  } else if (event.key === "m") {
    go({ mode: state.mode === "user" ? "machine" : "user" });
  } else if (/^[1-9]$/.test(event.key)) {
    const shown = views()[Number(event.key) - 1];
    if (shown) go({ view: shown[1] });
  }
});

window.addEventListener("popstate", follow);
window.addEventListener("resize", () => state.repaint?.());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (data) drawMain(); });

/** The documents, which the page holds packed. */
async function unpacked() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

unpacked().then((found) => {
  data = found;
  data.mode = data.modes.includes(data.mode) ? data.mode : "user";
  state.metrics = new Set(data.shown);
  follow();
}, (error) => {
  document.getElementById("page").textContent =
    `The report's data cannot be read (${error.message}): open it in a browser of 2023 or later, or make it again.`;
});
