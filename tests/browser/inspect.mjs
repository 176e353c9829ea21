// Opens pages in Chromium and prints what they do as JSON: node inspect.mjs CHROMIUM FOLDER
import { createRequire } from "node:module";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf-8");
const [executablePath, folder] = process.argv.slice(2);
const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const views = [
  { width: 1400, colorScheme: "light" },
  { width: 390, colorScheme: "dark" },
];

const browser = await chromium.launch({ executablePath, args: quiet });
const address = (name) => pathToFileURL(join(folder, name)).href;

// What holds for every page: [messages on the console, requests beside the page's own, accessibility, width]
async function look(name, view) {
  const page = await browser.newPage({ viewport: { width: view.width, height: 900 }, colorScheme: view.colorScheme });
  const told = { name, ...view, messages: [], requests: [] };
  page.on("console", (message) => told.messages.push(message.text()));
  page.on("pageerror", (error) => told.messages.push(error.message));
  page.on("request", (request) => request.url() !== address(name) && told.requests.push(request.url()));
  await page.goto(address(name));
  told.overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
  await page.evaluate(axe);
  const found = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
  told.violations = found.violations.map((each) => [each.impact, each.id, each.nodes.map((node) => node.target.join(" ")).slice(0, 3)]);
  await page.close();
  return told;
}

// Whether an element becomes visible: a page follows a link to a place in itself when the browser reports it, after the click.
async function becomesVisible(locator) {
  try {
    await locator.first().waitFor({ timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}

// What the script of a page does with several runs and findings.
async function use(name) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  const visible = (selector) => page.locator(selector).filter({ visible: true }).count();
  const told = {};
  await page.goto(address(name));
  told.findings = await visible(".finding");
  told.runs = await visible("article.run");

  await page.getByRole("checkbox", { name: "warning" }).uncheck();
  told.errors = await visible(".finding");
  told.errorsOnly = (await visible(".finding.error")) === told.errors;
  told.status = await page.locator("output").textContent();
  told.runsWithErrors = await visible("article.run");
  told.rowsWithErrors = await visible(".overview tbody tr");

  await page.getByRole("button", { name: "Show all" }).click();
  await page.waitForFunction((count) => document.querySelectorAll(".finding:not([hidden])").length === count, told.findings);
  await page.locator("select[name=code]").selectOption({ label: "BAT001" });
  told.ofOneRule = await visible(".finding");

  const hidden = await page.locator("article[hidden] .finding").first().getAttribute("id");
  await page.evaluate((id) => (location.hash = id), hidden);
  told.linkShowsWhatIsFiltered = await becomesVisible(page.locator(`#${hidden}`));

  await page.locator(".finding.error h4 a").first().click();
  await becomesVisible(page.locator("details.rule[open]"));
  told.rulesOpen = await page.locator("details.rule[open]").count();
  await page.locator("p.related a").first().click();
  await becomesVisible(page.locator("details.listing[open]"));
  told.listingsOpen = await page.locator("details.listing[open]").count();

  await page.reload();
  await page.evaluate(() => history.replaceState(null, "", location.pathname));
  await page.reload();
  await page.keyboard.press("Tab");
  told.firstStop = await page.evaluate(() => document.activeElement.textContent);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash);
  await page.locator('input[value="warning"]').focus();
  await page.keyboard.press("Space");
  told.byKeyboard = await visible(".finding");
  told.outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);

  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  told.closedInPrint = await page.locator("details:not([open])").count();
  told.filtersInPrint = await visible(".filters");
  await page.close();
  return told;
}

const names = readdirSync(folder).filter((name) => name.endsWith(".html"));
const looks = views.map(async (view) => {
  const told = [];
  for (const name of names) told.push(await look(name, view));
  return told;
});
const [used, ...pages] = await Promise.all([use("check.html"), ...looks]);
console.log(JSON.stringify({ pages: pages.flat(), used }));
await browser.close();
