// Drives a report in a browser: `node page.mjs BROWSER PROGRAM PAGE COMPARED EXPECTED`. PAGE is of one experiment,
// COMPARED of two; EXPECTED has what er_print says of them. Fails with a message at the first thing that is not so.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as playwright from "playwright-core";

const [, , name, program, file, comparedFile, expectedFile] = process.argv;
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const launch = {
  chromium: { executablePath: program, args: ["--no-sandbox"] },
  firefox: { executablePath: program, channel: "moz-firefox" },
}[name];
const browser = await playwright[name].launch(launch);
const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
const said = [];
page.on("console", (message) => said.push(message.text()));
page.on("pageerror", (error) => said.push(error.stack ?? error.message));
page.on("dialog", (dialog) => { said.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
page.on("request", (request) => { if (!/^(file|blob|data):/.test(request.url())) said.push(request.url()); });

const open = async (view) => {
  await page.click(`#tab-${view}`);
  await page.waitForSelector(`#view[aria-labelledby="tab-${view}"]`);
};
const names = () => page.$$eval("#view tbody tr td.name > :first-child", (all) => all.map((it) => it.textContent));
const column = (at) => page.$$eval("#view tbody tr",
  (rows, at) => rows.map((row) => row.children[at].firstChild.textContent), at);
const detail = () => page.textContent("#view .detail");

await page.goto(`file://${file}`);
await page.waitForSelector("#page[aria-busy=false]");
const title = await page.title();
assert.ok(title.endsWith(expected.name), title);
assert.equal(await page.textContent("h1"), title);

// Every view draws something.
const views = await page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.id.slice("tab-".length)));
for (const view of ["overview", "timeline", "functions", "calltree", "flame", "OMP_preg", "Threads", "header"]) {
  assert.ok(views.includes(view), `${view} of ${views}`);
}
for (const view of views) {
  await open(view);
  assert.ok((await page.textContent("#view")).trim().length > 20, view);
}

// The numbers are those of er_print's JSON, in both modes.
for (const [mode, rows] of Object.entries(expected.functions)) {
  await page.click(`text=${mode === "user" ? "User" : "Machine"} mode`);
  await open("functions");
  // Rows of the same time stand in any order.
  const [shown, work] = [await names(), await column(0)];
  const pairs = shown.map((name, at) => `${name} ${work[at]}`);
  assert.deepEqual(pairs.toSorted(), rows.map((row) => `${row.name} ${row.work}`).toSorted(), mode);
}
await page.keyboard.press("m");
assert.equal(await page.getAttribute("text=User mode", "aria-pressed"), "true");

// A click on a heading sorts; a second one turns the order round. Everything stays first.
const numbers = async () => (await column(2)).slice(1).map(Number);
await page.click("#view thead th:nth-child(3) button");
const down = await numbers();
assert.deepEqual(down, down.toSorted((a, b) => b - a));
await page.click("#view thead th:nth-child(3) button");
assert.deepEqual(await numbers(), down.toReversed().toSorted((a, b) => a - b));
assert.equal((await names())[0], "<Total>");

// A search leaves the names that match.
await page.keyboard.press("/");
await page.keyboard.type(expected.search);
const found = await names();
assert.ok(found.length > 1 && found.slice(1).every((it) => it.includes(expected.search)), `${found}`);
await page.keyboard.press("Escape");
assert.equal((await names()).length, expected.functions.user.length);

// A metric can be added.
await page.click("summary");
const before = await page.locator("#view thead th").count();
await page.click("text=Total CPU Time");
await page.click("summary");
assert.equal(await page.locator("#view thead th").count(), before + 2);

// A function leads to its callers and callees, and back.
await page.click(`#view tbody button:text-is(${JSON.stringify(expected.search)})`);
await page.waitForSelector("#view tr.centre");
assert.equal(await page.inputValue("#view input"), expected.search);
await page.goBack();
await page.waitForSelector('#view[aria-labelledby="tab-functions"]');

// The call tree opens and closes.
await open("calltree");
const opened = (await names()).length;
await page.click("#view .twist[aria-expanded=true]");
assert.ok((await names()).length < opened);

// The flame graph goes to the hottest leaf, enlarges it, and comes back.
await open("flame");
await page.focus("#view canvas");
const whole = await detail();
assert.match(whole, /^<Total>: .*100\.00 % of all/);
await page.keyboard.press("h");
const leaf = await detail();
assert.notEqual(leaf, whole);
await page.keyboard.press("Enter");
assert.match(await detail(), /100\.00 % of what is shown/);
for (let depth = 0; depth < 100 && !(await detail()).startsWith("<Total>"); depth++) {
  await page.keyboard.press("Escape");
}
assert.equal(await detail(), whole);

// The address of a stack shows that stack again. What it has is what er_print says, and is what tables write.
const painted = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const follow = async (hash) => {
  await page.evaluate((hash) => {
    document.querySelector("#view").dataset.old = true;
    location.hash = hash;
  }, hash);
  await page.waitForSelector("#view:not([data-old]) canvas");
  await painted();
};
const addressOf = (stack, more = {}) => `flame?${new URLSearchParams([...Object.entries(more), ...stack])}`;
const numberText = (value, decimals) => (Math.abs(value) < 5e-10 ? "0." : value.toFixed(decimals));
const share = (value, whole) => `${numberText(value, 3)} s, ${numberText((100 * value) / whole, 2)} %`;
// A name may have marks behind it.
const says = async (name, text) => {
  const found = await detail();
  assert.ok(found.startsWith(name) && found.includes(text), `${found} is not ${name}${text}`);
};
const all = expected.stacks[0].seconds[0];
for (const { stack, name, seconds } of expected.stacks.slice(0, 40)) {
  await follow(addressOf(stack));
  await says(name, `: ${share(seconds[0], all)} of all`);
}
await page.focus("#view canvas");
await page.keyboard.press("Escape");
await page.keyboard.press("h");
await page.keyboard.press("Enter");
const [clicked, link] = [await detail(), await page.getAttribute("#view .ways a", "href")];
assert.equal(await page.evaluate(() => location.hash), link);
await page.goto("about:blank");
await page.goto(`file://${file}${link}`);
await page.waitForSelector("#page[aria-busy=false]");
await painted();
assert.equal(await detail(), clicked);
await follow("flame?frame=main&frame=nonesuch");
assert.match(await page.textContent("#view .warning"), /no stack main > nonesuch/);

// A search says what the matches have together, each second once.
await follow("flame");
await page.keyboard.press("/");
await page.keyboard.type(expected.search);
await painted();
const isFound = ([, name]) => name.includes(expected.search);
const outermost = ({ stack }) => stack.length > 0 && isFound(stack.at(-1)) && !stack.slice(0, -1).some(isFound);
const sum = (rows, side) => rows.filter(outermost).reduce((sum, { seconds }) => sum + seconds[side], 0);
assert.equal(await page.textContent("#view .found"), `"${expected.search}": ${share(sum(expected.stacks, 0), all)} of all`);
await page.keyboard.press("Escape");

// In a comparison each side has its numbers, and what only one of them has says so.
await page.goto(`file://${comparedFile}`);
await page.waitForSelector("#page[aria-busy=false]");
const wholes = expected.compared[0].seconds;
const words = new Set();
for (const { stack, name, seconds } of expected.compared.slice(0, 40)) {
  await follow(addressOf(stack));
  const word = seconds[0] < 5e-10 && seconds[1] >= 5e-10 ? "new: " : seconds[1] < 5e-10 && seconds[0] >= 5e-10 ? "gone: " : "";
  if (["heavy", "rewritten"].includes(name)) words.add(`${word}${name}`);
  await says(`${word}${name}`, `: (1) ${share(seconds[0], wholes[0])}; (2) ${share(seconds[1], wholes[1])}, `);
}
assert.deepEqual([...words].toSorted(), ["gone: heavy", "new: rewritten"]);
await follow("flame");
const boxes = async () => page.evaluate(() => document.querySelector("#view canvas").toDataURL());
const larger = await boxes();
await page.click("#view .choice >> text=(2)");
await painted();
assert.notEqual(await boxes(), larger);
assert.match(await page.evaluate(() => location.hash), /width=2/);
await page.goBack();
await painted();
assert.equal(await boxes(), larger);
const legend = await page.$$eval("#view .legend li", (items) => items.map((it) => it.textContent));
assert.deepEqual(legend.slice(1), ["gone", "less than a third", "less", "within a tenth", "more", "three times or more", "new"]);
await page.goto(`file://${file}`);
await page.waitForSelector("#page[aria-busy=false]");

// The timeline says what a thread did, zooms by the wheel, and moves by a drag.
await open("timeline");
await page.waitForTimeout(100);
const box = await page.locator("#view canvas").boundingBox();
const [x, y] = [box.x + box.width * 0.6, box.y + box.height - 12];
await page.mouse.click(x, y);
await page.waitForTimeout(100);
assert.match(await detail(), / at \d+\.\d{6} s\n/);
const time = async () => Number((await detail()).match(/ at (\d+\.\d{6}) s/)[1]);
const middle = await time();
await page.mouse.move(x, y);
for (let step = 0; step < 8; step++) await page.mouse.wheel(0, -100);
await page.mouse.click(x + 200, y);
await page.waitForTimeout(100);
const near = await time();
assert.ok(near > middle && near - middle < 0.05 * expected.seconds, `${middle} ${near}`);
await page.mouse.down();
await page.mouse.move(x - 100, y, { steps: 5 });
await page.mouse.up();
await page.mouse.click(x + 200, y);
await page.waitForTimeout(100);
assert.ok((await time()) > near);
await page.focus("#view canvas");
await page.keyboard.press("ArrowUp");
await page.waitForTimeout(100);
assert.match(await detail(), / at \d+\.\d{6} s/);

// The address of a click shows the same again. Frames of the stack lead to functions.
await page.mouse.click(x, y);
await page.waitForTimeout(100);
const [told, moment] = [await detail(), await page.evaluate(() => location.hash)];
assert.match(moment, /^#timeline\?thread=\d+&time=\d+&from=\d+/);
await page.goto("about:blank");
await page.goto(`file://${file}${moment}`);
await page.waitForSelector("#page[aria-busy=false]");
await painted();
assert.equal(await detail(), told);
await follow("timeline?thread=0");
for (let step = 1; step < 100 && await page.locator("#view .stack button").count() === 0; step++) {
  await follow(`timeline?thread=0&time=${Math.round((expected.seconds * 1e9 * step) / 100)}`);
}
const frame = await page.textContent("#view .stack button");
await page.click("#view .stack button");
assert.equal(await page.inputValue("#view input"), frame);

// Keys go to views.
await page.keyboard.press("1");
assert.equal(await page.getAttribute("#tab-overview", "aria-selected"), "true");

assert.deepEqual(said, [], "the console is empty, and nothing is fetched");
await browser.close();
console.log(`${name}: all is so`);
