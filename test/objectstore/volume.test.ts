import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { MIB } from "./bodies.ts";
import { storeContract } from "./contract.ts";

const root = mkdtempSync(join(tmpdir(), "volume-"));
afterAll(() => rmSync(root, { recursive: true }));

let count = 0;

storeContract("a volume", () => ({
  partBytes: MIB,
  secrets: ["no secret"],
  place() {
    mkdirSync(join(root, String(++count)));
    return Promise.resolve({ location: { store: "volume", path: join(root, String(count)) } });
  },
  unfinished: () => Promise.resolve(readdirSync(join(root, String(count), ".objectstore", "incomplete"))),
}));
