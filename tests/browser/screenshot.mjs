// A picture of a page, for the docs: node screenshot.mjs CHROMIUM PAGE.html PICTURE.png WIDTH HEIGHT light|dark
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, from, path, width, height, colorScheme] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
await page.goto(pathToFileURL(from).href);
await page.screenshot({ path });
await browser.close();
