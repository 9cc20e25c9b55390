import { globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentStep } from "#dev/progress.ts";
import { buildSite, SITE_FOLDER } from "#dev/site.ts";
import { type Browser, type BrowserPage, serveFolder, startBrowser } from "#kit/servers/browser.ts";
import { titleOf } from "../../site/pages.ts";

// The built site, as a browser shows it. Screenshots of each kind of page are in .local/site-screens.

const DIST = join(SITE_FOLDER, "dist");
const SCREENS = join(process.cwd(), ".local", "site-screens");
const WIDTHS = { desk: { width: 1280, height: 900 }, phone: { width: 390, height: 800 } };

/** A page of each kind, by path of its file and on the site. */
const KINDS = {
  "README.md": "",
  "docs/install.md": "install",
  "docs/tls.md": "tls",
  "docs/when-something-fails.md": "when-something-fails",
  "docs/troubleshooting.md": "troubleshooting",
  "docs/move-here.md": "move-here",
  "docs/limits.md": "limits",
  "docs/reference/etcdcluster.md": "reference/etcdcluster",
  "docs/reference/messages.md": "reference/messages",
  "docs/reference/rules.md": "reference/rules",
  "docs/adr/README.md": "adr/",
  "docs/adr/0012-evidence-before-replacement.md": "adr/0012-evidence-before-replacement",
  "ARCHITECTURE.md": "architecture",
  "src/cluster/README.md": "packages/cluster",
};

/** Pixels by which the page, or a table of it, is wider than its room. */
const CUT_OFF = `Math.max(
  document.documentElement.scrollWidth - window.innerWidth,
  ...[...document.querySelectorAll("table")].map((table) => table.scrollWidth - table.clientWidth))`;

let browser: Browser;
let server: { url: string } & AsyncDisposable;
let complaints: string[] = [];

beforeAll(async () => {
  await buildSite(silentStep);
  mkdirSync(SCREENS, { recursive: true });
  server = await serveFolder(DIST);
  browser = await startBrowser();
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await server?.[Symbol.asyncDispose]();
});

/** A new page that notes what the browser complains of. */
async function newPage(): Promise<BrowserPage> {
  const page = await browser.newPage();
  complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("requestfailed", (request) => complaints.push(request.url()));
  return page;
}

describe.each(Object.entries(WIDTHS))("on a %s", (device, size) => {
  test.each(Object.entries(KINDS))(
    "%s is shown with its heading, and the browser reports no error",
    async (file, path) => {
      const page = await newPage();
      await page.setViewportSize(size);
      expect((await page.goto(`${server.url}/${path}`))?.status()).toBe(200);
      await page.waitForSelector(".vp-doc h1");
      expect((await page.innerText(".vp-doc h1")).replace("\u200b", "").trim()).toBe(titleOf(process.cwd(), file));
      await page.screenshot({ path: join(SCREENS, `${device}-${path.replaceAll("/", "-") || "start"}.png`) });
      // On a phone, tables scroll in their own room.
      const cutOff = device === "phone" ? "document.documentElement.scrollWidth - window.innerWidth" : CUT_OFF;
      expect(await page.evaluate(cutOff)).toBeLessThanOrEqual(0);
      expect(complaints).toEqual([]);
      await page.close();
    },
  );
});

test("search without a server finds a word of a page, and leads to it", async () => {
  const page = await newPage();
  await page.setViewportSize(WIDTHS.desk);
  await page.goto(`${server.url}/`);
  await page.click("#local-search button");
  await page.fill("#localsearch-input", "NoSpaceAlarm");
  await page.waitForSelector(".VPLocalSearchBox .result");
  const found = await page.innerText(".VPLocalSearchBox .results");
  expect(found).toContain("When something fails");
  await page.screenshot({ path: join(SCREENS, "desk-search.png") });
  await page.click(".VPLocalSearchBox .result");
  await page.waitForSelector(".vp-doc h1");
  expect(complaints).toEqual([]);
  await page.close();
});

test("a link of a page leads to another page, and to the text of a file", async () => {
  const page = await newPage();
  await page.setViewportSize(WIDTHS.desk);
  await page.goto(`${server.url}/`);
  await page.click('.vp-doc a[href="/tls.html"]');
  await page.waitForURL(`${server.url}/tls.html`);
  expect(await page.innerText(".vp-doc h1")).toContain("TLS");
  const example = await page.goto(`${server.url}/files/examples/tls.yaml.txt`);
  expect(example?.status()).toBe(200);
  expect(await page.innerText("body")).toContain("kind: EtcdCluster");
  await page.close();
});

test("each link within the built pages leads to a page, file and anchor that exist", () => {
  const files = globSync("**/*.html", { cwd: DIST });
  const ids = new Map(files.map((file) => [file, new Set(idsOf(readFileSync(join(DIST, file), "utf8")))]));
  const dead = files.flatMap((file) =>
    hrefsOf(readFileSync(join(DIST, file), "utf8"))
      .filter((href) => !isAlive(ids, file, href))
      .map((href) => `${file}: ${href}`),
  );
  expect(files.length).toBeGreaterThan(90);
  expect(dead).toEqual([]);
});

function idsOf(html: string): readonly string[] {
  return [...html.matchAll(/ id="([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** Links within the site. */
function hrefsOf(html: string): readonly string[] {
  const all = [...html.matchAll(/<a [^>]*href="([^"]+)"/g)].map((match) => (match[1] ?? "").replaceAll("&amp;", "&"));
  return all.filter((href) => !/^[a-z]+:/.test(href));
}

function isAlive(ids: ReadonlyMap<string, ReadonlySet<string>>, from: string, href: string): boolean {
  const [path = "", anchor = ""] = href.split("#");
  const file = path === "" ? from : normalize(path.startsWith("/") ? path.slice(1) : join(dirname(from), path));
  if (file.endsWith(".txt")) return globSync(file, { cwd: DIST }).length === 1;
  const candidates = [file, `${file}.html`, join(file, "index.html")].map((each) => each.replace(/^\.\//, ""));
  const page = candidates.find((each) => ids.has(each));
  return page !== undefined && (anchor === "" || (ids.get(page)?.has(decodeURIComponent(anchor)) ?? false));
}
