// The page: views, switches, keys.

let data;

const state = {
  view: "overview", mode: "user", compare: undefined, metrics: new Set(), find: "", function: undefined,
  file: 0, line: 0, sorts: new Map(), open: new Map(), repaint: undefined,
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

/** Changes what is shown, as a step that the browser's back button undoes. The address names the view. */
function go(change) {
  Object.assign(state, change);
  const { view, mode, compare, function: name, file, line } = state;
  history.pushState({ view, mode, compare, function: name, file, line }, "", `#${view}`);
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
      (mode) => go({ mode, flameRoot: 0 })),
    compares.length > 1 ? choice("comparison", compares, state.compare, (compare) => go({ compare, flameRoot: 0 })) : undefined,
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
    go({ mode: state.mode === "user" ? "machine" : "user", flameRoot: 0 });
  } else if (/^[1-9]$/.test(event.key)) {
    const shown = views()[Number(event.key) - 1];
    if (shown) go({ view: shown[1] });
  }
});

/** The view that the address names; the first where it names none. */
function addressed() {
  return decodeURIComponent(location.hash.slice(1)) || "overview";
}

window.addEventListener("popstate", (event) => {
  Object.assign(state, event.state ?? { view: addressed() });
  draw();
});
window.addEventListener("resize", () => state.repaint?.());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => state.repaint?.());

/** The documents, which the page holds packed. */
async function unpacked() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

unpacked().then((found) => {
  data = found;
  state.mode = data.modes.includes(data.mode) ? data.mode : "user";
  state.compare = data.compares[0];
  state.metrics = new Set(data.shown);
  state.view = addressed();
  const { view, mode, compare } = state;
  history.replaceState({ view, mode, compare }, "");
  draw();
}, (error) => {
  document.getElementById("page").textContent =
    `The report's data cannot be read (${error.message}): open it in a browser of 2023 or later, or make it again.`;
});
