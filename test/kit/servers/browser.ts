import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import { browserProgram } from "#dev/packages.ts";
import { SITE_FOLDER } from "#dev/site.ts";

/** The parts of playwright-core that tests use. It is a package of the site, so its types are not here. */
export interface BrowserPage {
  goto(url: string): Promise<{ status(): number } | null>;
  on(event: "console", listener: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", listener: (error: Error) => void): void;
  on(event: "requestfailed", listener: (request: { url(): string }) => void): void;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  screenshot(options: { path: string }): Promise<Uint8Array>;
  innerText(selector: string): Promise<string>;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  waitForSelector(selector: string): Promise<unknown>;
  waitForURL(url: string): Promise<void>;
  evaluate<T>(script: string): Promise<T>;
  close(): Promise<void>;
}

export interface Browser {
  newPage(): Promise<BrowserPage>;
  close(): Promise<void>;
}

/** A headless Chromium of the system. */
export async function startBrowser(): Promise<Browser> {
  const { chromium } = (await import(join(SITE_FOLDER, "node_modules/playwright-core/index.mjs"))) as {
    chromium: { launch(options: object): Promise<Browser> };
  };
  // Root has no sandbox. The pages are our own.
  return await chromium.launch({ executablePath: browserProgram(), args: ["--no-sandbox", "--disable-gpu"] });
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".txt": "text/plain; charset=utf-8",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".svg": "image/svg+xml",
};

/** Serves a folder on a free port of loopback, as any web server would. @returns its URL without a slash at the end */
export async function serveFolder(folder: string): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname));
    const asked = join(folder, path.endsWith("/") ? `${path}index.html` : path);
    const file = existsSync(asked) && statSync(asked).isFile() ? asked : `${asked}.html`;
    const found = existsSync(file) ? file : join(folder, "404.html");
    response.writeHead(found === file ? 200 : 404, {
      "content-type": TYPES[extname(found)] ?? "application/octet-stream",
    });
    createReadStream(found).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
