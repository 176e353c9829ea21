// A picture of a page, for the docs: node screenshot.mjs CHROMIUM PAGE.html PICTURE.png WIDTH HEIGHT light|dark
// docs/images/check.png is `check examples/bad/batch-mismatch.json --gpus 8` at 1000 x 900; diff.png is `review examples/good/trainer.yaml
// new.yaml --gpus 8 --num-examples 128770` at 1080 x 1000, new.yaml with 4 accumulation steps and a linear schedule. Both light.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, from, path, width, height, colorScheme] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme });
await page.goto(pathToFileURL(from).href);
await page.screenshot({ path });
await browser.close();
