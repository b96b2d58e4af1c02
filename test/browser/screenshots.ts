// Takes pictures of the dashboard's page, to be looked at:
//   node scripts/n.mjs test/browser/screenshots.ts FOLDER
import { mkdirSync } from "node:fs";
import path from "node:path";
import { findChromium, startChromium } from "./chromium.ts";
import { createPopulatedFleet, playQuarterHour } from "./populated-fleet.ts";
import { serve } from "./served-page.ts";

const folder = process.argv[2];
const chromium = findChromium();
if (folder === undefined || chromium === undefined) {
  console.error("screenshots: name a folder, and install chromium");
  process.exit(2);
}
/** Of a picture: the top of the page, and its end. */
const shownHeight = 1_200;
mkdirSync(folder, { recursive: true });
const fleet = await createPopulatedFleet();
const running = await serve(fleet);
await playQuarterHour(fleet);
const browser = await startChromium(chromium);
for (const theme of ["light", "dark"]) {
  for (const [width, height] of [
    [390, 844],
    [1024, 768],
    [1440, 900],
    [1920, 1080],
  ] as const) {
    const page = await browser.newPage();
    await page.setViewport({ width, height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.goto(running.url);
    await page.waitForSelector(".line");
    await page.evaluate("document.querySelectorAll('.line .name')[2].click()");
    await page.type("#explain-cell", "eu-west");
    await page.type("#explain-namespace", "shop");
    await page.type("#explain-pod", "checkout-7d9f-x2x");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#explanation pre");
    await page.evaluate("scrollTo(0, 0)");
    const file = (part: string): string => path.join(folder, `${width}-${theme}${part}.png`);
    await page.screenshot({ path: file(""), clip: { x: 0, y: 0, width, height: shownHeight } });
    const side = await page.$(".side");
    const box = await side?.boundingBox();
    const top = box?.y ?? 0;
    await page.screenshot({ path: file("-side"), clip: { x: 0, y: top, width, height: shownHeight } });
    await page.close();
  }
}
await browser.close();
await running.close();
