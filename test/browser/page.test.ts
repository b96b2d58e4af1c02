/**
 * The dashboard's page in a real browser: what a person sees, clicks and types, and what a screen reader is told. The
 * fleet is in the API double on a virtual clock, which moves only when a test moves it. Without Chromium the tests
 * cannot run, and say so; .ci/run repeats the line.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import type { RunningDashboard } from "../../src/commands/dashboard/dashboard.ts";
import type { Fleet } from "../unit/commands/support/fleet.ts";
import { findChromium, startChromium } from "./chromium.ts";
import { createPopulatedFleet, setAvailable, tell } from "./populated-fleet.ts";
import { serve } from "./served-page.ts";

const chromium = findChromium();
const skip = chromium === undefined ? "there is no Chromium on this machine: apt-get install chromium" : false;
/** Only ends a hang: a page answers in milliseconds. */
const waitMs = 300_000;

describe("the page in a browser", { skip }, () => {
  let fleet: Fleet;
  let running: RunningDashboard;
  let browser: Browser;
  let page: Page;
  /** What must not happen, in words. */
  const faults: string[] = [];

  before(async () => {
    fleet = await createPopulatedFleet();
    running = await serve(fleet);
    await fleet.clock.advance(6_000);
    browser = await startChromium(chromium ?? "");
  });

  after(async () => {
    await browser?.close();
    await running?.close();
  });

  async function open(width = 1280): Promise<void> {
    faults.length = 0;
    page = await browser.newPage();
    page.setDefaultTimeout(waitMs);
    page.on("console", (message) => {
      if (["error", "warn"].includes(message.type())) faults.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`error: ${String(error)}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(new URL(running.url).origin) && !request.url().startsWith("data:"))
        faults.push(`asked for ${request.url()}`);
    });
    await page.setViewport({ width, height: 900 });
    await page.goto(running.url);
    await page.waitForSelector(".line");
  }

  async function close(): Promise<void> {
    assert.deepEqual(faults, []);
    await page.close();
  }

  const texts = (selector: string): Promise<string[]> =>
    page.$$eval(selector, (nodes) => nodes.map((node) => (node.textContent ?? "").trim()));

  /** Waits until the expression is true in the page, while the fleet's clock moves. */
  async function until(expression: string): Promise<void> {
    await fleet.clock.advance(1_000);
    await page.waitForFunction(expression);
  }

  test("it shows those that need attention first, with their numbers", async () => {
    await open();
    const names = await texts(".line .name");
    assert.deepEqual(names.slice(0, 3), ["lab/by-hand", "payments/deployment-ledger", "shop/deployment-billing"]);
    const ledger = await texts(".line:nth-of-type(3) td");
    assert.deepEqual(ledger.slice(0, 5), ["Below floor", "12", "11", "0", "0"]);
    assert.equal(names.length, 50);
    assert.deepEqual(await texts("#held-list strong"), ["namespace/media"]);
    assert.deepEqual(await texts(".cell strong"), ["us-east", "eu-north", "eu-west"]);
    assert.match((await texts("#timeline .message")).join("\n"), /fed:runaway 240, alice@example.com 11/);
    await close();
  });

  test("what changes in the fleet appears by itself", async () => {
    await open();
    await setAvailable(fleet, "auth", "deployment-service-1", 0);
    const lines = "[...document.querySelectorAll('.line')]";
    await until(`${lines}.some((line) => line.textContent.startsWith("At floorauth/deployment-service-1"))`);
    await tell(fleet, "deployment-search", { reason: "NewReason", message: "what is new", count: 3, ago: 0 });
    await until("document.querySelector('#timeline li').textContent.includes('what is new')");
    await setAvailable(fleet, "auth", "deployment-service-1", 2);
    await fleet.clock.advance(1_000);
    await close();
  });

  test("names of objects are text, whatever they hold", async () => {
    await open();
    const message = '<img src=x onerror="document.title=1"><b>bold</b>';
    await tell(fleet, "deployment-api", { reason: "Markup", message, count: 1, ago: 0 });
    await until("document.querySelector('#timeline').textContent.includes('<b>bold</b>')");
    assert.equal(await page.$("#timeline img"), null);
    assert.equal(await page.title(), "Podseidon");
    await close();
  });

  test("search, states and pages narrow the table, and Escape shows all again", async () => {
    await open();
    await page.keyboard.press("/");
    await page.keyboard.type("silent");
    await page.waitForFunction("document.querySelectorAll('.line').length === 1");
    assert.deepEqual(await texts(".line .name"), ["shop/deployment-billing"]);
    assert.equal(await page.$eval("#matching", (node) => node.textContent), "1 of 63");
    await page.keyboard.press("Escape");
    await page.waitForFunction("document.querySelectorAll('.line').length === 50");
    await page.keyboard.press("n");
    await page.waitForFunction("document.querySelector('#page-text').textContent === 'Page 2 of 2'");
    await page.keyboard.press("Escape");
    await page.locator("xpath///button[contains(@class, 'tile')][contains(., 'Undrainable')]").click();
    await page.waitForFunction("document.querySelectorAll('.line').length === 1");
    assert.deepEqual(await texts(".line .name"), ["shop/deployment-api"]);
    assert.deepEqual(await texts(".tile[aria-pressed=true] .label"), ["Undrainable"]);
    await close();
  });

  test("rows are reached and opened by the keyboard, and keep the focus while they change", async () => {
    await open();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const focused = (): Promise<unknown> => page.evaluate("document.activeElement.textContent");
    assert.equal(await focused(), "payments/deployment-ledger");
    const shares = await texts(".more:not([hidden]) .shares li");
    assert.deepEqual(shares, ["eu-north 6 available", "eu-west 5 available"]);
    await setAvailable(fleet, "payments", "deployment-ledger", 4);
    await until("document.querySelector('.more:not([hidden])').textContent.includes('eu-west 4 available')");
    assert.equal(await focused(), "payments/deployment-ledger");
    assert.equal(
      await page.$eval(".name[aria-expanded=true]", (node) => node.textContent),
      "payments/deployment-ledger",
    );
    await setAvailable(fleet, "payments", "deployment-ledger", 5);
    await page.keyboard.press("k");
    assert.equal(await focused(), "lab/by-hand");
    await close();
  });

  test("the first Tab offers to skip to the table", async () => {
    await open();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.textContent"), "Skip to the PodProtectors");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate("document.activeElement.id"), "protectors");
    await close();
  });

  test("a pod is explained, and what is wrong with the question is said", async () => {
    await open();
    await page.keyboard.press("e");
    await page.keyboard.type("shop");
    await page.keyboard.press("Tab");
    await page.keyboard.type("checkout-7d9f-x2x");
    await page.type("#explain-cell", "eu-west");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#explanation pre");
    assert.match((await texts("#explanation pre"))[0] ?? "", /Would its deletion or eviction be admitted now\? {2}NO/);
    assert.equal(await page.evaluate("document.activeElement.id"), "explanation");
    await page.$eval("#explain-pod", (node) => void ((node as unknown as { value: string }).value = "absent"));
    await page.click("#explain button");
    await page.waitForSelector("#explanation .problem");
    assert.match((await texts("#explanation .problem"))[0] ?? "", /absent/);
    await close();
  });

  test("the theme can be chosen and stays", async () => {
    await open();
    const background = (): Promise<unknown> => page.evaluate("getComputedStyle(document.body).backgroundColor");
    await page.click("#theme-button");
    const light = await background();
    await page.click("#theme-button");
    const dark = await background();
    assert.notEqual(light, dark);
    await page.reload();
    await page.waitForSelector(".line");
    assert.equal(await background(), dark);
    await page.click("#theme-button");
    await close();
  });

  test("the list of keys is a dialog, and single keys can be switched off", async () => {
    await open();
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.click("#keys-on");
    await page.keyboard.press("Escape");
    await page.waitForFunction("!document.querySelector('dialog').open");
    await page.keyboard.press("/");
    assert.notEqual(await page.evaluate("document.activeElement.id"), "words");
    await close();
  });

  test("a screen reader finds a name for everything that can be used, and hears what needs attention", async () => {
    await open();
    const unnamed: string[] = [];
    const walk = (node: { role: string; name?: string; children?: readonly unknown[] }): void => {
      if (
        ["button", "textbox", "searchbox", "combobox", "checkbox", "table", "image"].includes(node.role) &&
        !node.name
      )
        unnamed.push(JSON.stringify({ ...node, children: undefined }));
      for (const child of node.children ?? []) walk(child as typeof node);
    };
    walk((await page.accessibility.snapshot({ interestingOnly: false })) as Parameters<typeof walk>[0]);
    assert.deepEqual(unnamed, []);
    assert.match((await texts("#announcer"))[0] ?? "", /1 unusable, 1 below floor, 1 cell silent/);
    await close();
  });

  test("nothing is wider than the window, from a phone to a wide screen", async () => {
    for (const width of [390, 760, 1024, 1400, 1920]) {
      await open(width);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width, `${width} px`);
      await close();
    }
  });

  test("a connection that is lost is visible, and the page goes on when the program is back", async () => {
    await open();
    await running.close();
    await page.waitForFunction("/lost|No answer/.test(document.querySelector('#connection-text').textContent)");
    assert.equal(await page.$eval("body", (node) => node.classList.contains("lost")), true);
    running = await serve(fleet, Number(new URL(running.url).port));
    await until("document.querySelector('#connection-text').textContent === 'Live'");
    assert.equal(await page.$eval("body", (node) => node.classList.contains("lost")), false);
    // The browser itself reports the answers that it did not get.
    assert(faults.every((fault) => fault.includes("net::ERR_")));
    await page.close();
  });
});
