// Opens a page in headless Chromium and prints, as JSON, what a reader would meet: errors, requests, the drawn SVG.
// node look.mjs PLAYWRIGHT CHROMIUM PAGE WIDTH light|dark SCREENSHOT
import { pathToFileURL } from "node:url";

import { browsed } from "./browser.mjs";

const [playwright, executablePath, page, width, colorScheme, screenshot] = process.argv.slice(2);
const address = pathToFileURL(page).href;
const options = { viewport: { width: Number(width), height: 900 }, colorScheme };
await browsed(playwright, executablePath, { options, may: (url) => url === address }, async (tab, found) => {
  tab.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) found.errors.push(message.text());
  });
  await tab.goto(address);
  await tab.waitForFunction(() => document.documentElement.dataset.drawn !== undefined, null, { timeout: 60000 });
  const read = () => {
    const charts = [...document.querySelectorAll(".chart")];
    return {
      drawn: Number(document.documentElement.dataset.drawn),
      broken: document.querySelectorAll(".broken").length,
      empty: charts.filter((chart) => !chart.querySelector("svg")).map((chart) => chart.id),
      marks: Object.fromEntries(
        charts.map((chart) => [
          chart.id,
          [...chart.querySelectorAll("svg [aria-roledescription]")].map((mark) => mark.getAttribute("aria-label") || ""),
        ]),
      ),
      texts: Object.fromEntries(
        charts.map((chart) => [chart.id, [...chart.querySelectorAll("svg text")].map((each) => each.textContent)]),
      ),
      wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
      background: getComputedStyle(document.body).backgroundColor,
      ink: getComputedStyle(document.body).color,
      page: document.body.innerText,
      foreign: document.querySelectorAll("main img, main script, main iframe").length,
    };
  };
  Object.assign(found, await tab.evaluate(read));
  const opacities = () =>
    [...document.querySelectorAll("#calibration .chart svg path[aria-roledescription='line mark']")].map((path) =>
      path.getAttribute("opacity"),
    );
  const entry = tab.locator("#calibration .chart svg .role-legend-label text, #calibration .chart svg .mark-text.role-legend-label text").first();
  if (await entry.count()) {
    found.before = await tab.evaluate(opacities);
    await entry.click();
    await tab.waitForTimeout(300);
    found.after = await tab.evaluate(opacities);
  }
  if (screenshot) await tab.screenshot({ path: screenshot, fullPage: true });
});
