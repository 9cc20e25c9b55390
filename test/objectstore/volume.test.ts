import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll } from "vitest";
import { removeTemporaryDirs, temporaryDir } from "#kit/servers/store-server.ts";
import { MIB } from "./bodies.ts";
import { storeContract } from "./contract.ts";

afterAll(removeTemporaryDirs);
const root = temporaryDir("volume");

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
