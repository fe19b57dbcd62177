// What the scripts beside share: a page in headless Chromium that reaches nothing but what it may.
import { createRequire } from "node:module";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"];

// Does `work(tab, found)` in a page of its own, then prints `found` as JSON: `errors` holds what the page threw and the
// dialogs it opened, `requests` what it asked for and was refused. options: those of the browser's context.
// may(url): whether a request goes through; silent(url): whether one that does not is left out of `requests`.
export async function browsed(playwright, executablePath, { options, may, silent = () => false }, work) {
  const { chromium } = createRequire(import.meta.url)(playwright);
  const browser = await chromium.launch({ executablePath, args: [...FLAGS, "--disable-sync", "--no-first-run"] });
  try {
    const context = await browser.newContext(options);
    const tab = await context.newPage();
    const found = { errors: [], requests: [] };
    tab.on("pageerror", (error) => found.errors.push(String(error)));
    tab.on("dialog", (dialog) => {
      found.errors.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
    await context.route("**/*", (route) => {
      const url = route.request().url();
      if (may(url) || url.startsWith("data:")) return route.continue();
      if (!silent(url)) found.requests.push(url);
      return route.abort();
    });
    await work(tab, found);
    process.stdout.write(JSON.stringify(found));
  } finally {
    await browser.close();
  }
}
