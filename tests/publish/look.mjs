// Opens a page in headless Chromium and prints, as JSON, what a reader would meet: errors, requests, the drawn SVG.
// node look.mjs PLAYWRIGHT CHROMIUM PAGE WIDTH light|dark SCREENSHOT
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [playwright, executablePath, page, width, colorScheme, screenshot] = process.argv.slice(2);
const { chromium } = createRequire(import.meta.url)(playwright);
const flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];
const browser = await chromium.launch({ executablePath, args: [...flags, "--disable-sync", "--no-first-run"] });
try {
  const context = await browser.newContext({ viewport: { width: Number(width), height: 900 }, colorScheme });
  const tab = await context.newPage();
  const found = { errors: [], requests: [] };
  const address = pathToFileURL(page).href;
  tab.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) found.errors.push(message.text());
  });
  tab.on("pageerror", (error) => found.errors.push(String(error)));
  tab.on("dialog", (dialog) => {
    found.errors.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await context.route("**/*", (route) => {
    const url = route.request().url();
    if (url === address || url.startsWith("data:")) return route.continue();
    found.requests.push(url);
    return route.abort();
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
  process.stdout.write(JSON.stringify(found));
} finally {
  await browser.close();
}
