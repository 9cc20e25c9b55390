import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { page, table } from "./pages.ts";
import { textsOfCode } from "./prose/texts.ts";

// All messages at once: what is vague, long or worded in two ways is seen only beside the others.

/** Packages with strings for people, in the order of the page. */
const PACKAGES = [
  "cluster",
  "cluster-tls",
  "peer",
  "backup",
  "schedule",
  "restore",
  "role",
  "user",
  "access",
  "agent-job",
  "agent",
  "webhooks",
  "certificates",
  "api",
  "etcd",
  "kube",
  "objectstore",
  "shards",
  "runtime",
  "base",
  "bin",
];

/** Files below src with strings that other pages show (field descriptions, reasons), generated ones, and tests. */
const LEFT_OUT = /-schema\.ts$|^api\/(conditions\.ts$|remedies\/)|\/shapes\.ts$|^etcd\/(proto|flags\/list)|\.test\.ts$/;

/** The page with all messages of the code: of conditions, events, refusals and logs. */
export async function messagesPage(root: string): Promise<string> {
  const parts = await Promise.all(
    PACKAGES.map(async (name) => {
      const rows = await messagesOf(root, name);
      return rows.length === 0 ? [] : [`## ${name}`, table(["message", "file"], rows)];
    }),
  );
  return page(
    "Messages",
    "Every message that the code gives to people: in conditions, events, refusals and logs. `…` stands for what is inserted. Parts of longer messages have rows of their own.",
    ...parts.flat(),
  );
}

async function messagesOf(root: string, name: string): Promise<readonly (readonly [text: string, file: string])[]> {
  const folder = join(root, "src", name);
  const files = (await readdir(folder, { recursive: true })).filter(
    (file) => file.endsWith(".ts") && !LEFT_OUT.test(`${name}/${file}`),
  );
  const found = await Promise.all(
    files.sort().map(async (file) => {
      const texts = textsOfCode(file, await readFile(join(folder, file), "utf8"));
      const messages = new Set(texts.filter(({ kind }) => kind === "string").map(({ text }) => text));
      const link = `[${file}](../../src/${name}/${file})`;
      return [...messages].map((text) => [text.replaceAll(/[<*_`]/g, "\\$&"), link] as const);
    }),
  );
  return found.flat();
}
