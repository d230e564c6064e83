// Drives a report in a browser: `node page.mjs BROWSER PROGRAM PAGE EXPECTED`. EXPECTED has what er_print
// says of the experiment. Fails with a message at the first thing that is not so.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as playwright from "playwright-core";

const [, , name, program, file, expectedFile] = process.argv;
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

// Keys go to views.
await page.keyboard.press("1");
assert.equal(await page.getAttribute("#tab-overview", "aria-selected"), "true");

assert.deepEqual(said, [], "the console is empty, and nothing is fetched");
await browser.close();
console.log(`${name}: all is so`);
