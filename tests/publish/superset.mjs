// Opens a dashboard of a local Superset in headless Chromium, reads the first pivot table, chooses another protocol in the
// native filter, reads again, and prints both as JSON with every error and every request that was not to loopback.
// node superset.mjs PLAYWRIGHT CHROMIUM ADDRESS SLUG PROTOCOL SCREENSHOT_BEFORE SCREENSHOT_AFTER
import { browsed } from "./browser.mjs";

const [playwright, executablePath, address, slug, protocol, before, after] = process.argv.slice(2);
const options = { viewport: { width: 1600, height: 2900 } };
const may = (url) => url.startsWith(address) || url.startsWith("blob:");
// Superset's own pages count their views at this address, and no setting turns that off.
const silent = (url) => url.startsWith("https://apachesuperset.gateway.scarf.sh/");
await browsed(playwright, executablePath, { options, may, silent }, async (tab, found) => {
  tab.context().setDefaultTimeout(90000);

  // Labels of a row stand once for all rows that share them; the last is the run's.
  const read = () =>
    [...document.querySelector("table.pvtTable").querySelectorAll("tbody tr")].map((row) => ({
      run: [...row.querySelectorAll("th.pvtRowLabel")].at(-1)?.textContent,
      cells: [...row.querySelectorAll("td")].map((cell) => cell.textContent),
    }));
  const settled = async () => {
    await tab.waitForTimeout(1000); // what a click sets off begins
    await tab.waitForFunction(() => !document.querySelector('.loading, [data-test="loading-indicator"]'));
    await tab.waitForTimeout(1000); // bars and cells grow into place
  };

  await tab.goto(`${address}/login/`);
  await tab.fill('[data-test="username-input"]', "admin");
  await tab.fill('[data-test="password-input"]', "admin");
  await tab.click('[data-test="login-button"]');
  await tab.waitForURL(/welcome/, { waitUntil: "commit" });
  await tab.goto(`${address}/superset/dashboard/${slug}/`);
  await tab.waitForSelector("table.pvtTable");
  await settled();
  found.before = await tab.evaluate(read);
  if (before) await tab.screenshot({ path: before });

  const text = () => tab.evaluate(() => document.querySelector("table.pvtTable").textContent);
  const first = await text();
  const apply = tab.locator('[data-test="filter-bar__apply-button"]');
  await tab.locator('[data-test="filter-bar"] .ant-select').first().click();
  await tab.locator(".ant-select-item-option", { hasText: protocol }).first().click();
  await apply.click();
  await settled();
  // Slice and run of the matrix follow another protocol: Superset chooses them and waits to be told.
  if (await apply.isEnabled()) await apply.click();
  await tab.waitForFunction((old) => (document.querySelector("table.pvtTable")?.textContent ?? old) !== old, first);
  await settled();
  found.after = await tab.evaluate(read);
  found.broken = await tab.locator('.ant-alert-error').allInnerTexts();
  found.titles = await tab.locator('[data-test="slice-header"]').allInnerTexts();
  if (after) await tab.screenshot({ path: after });
});
