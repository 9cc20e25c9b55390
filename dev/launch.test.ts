import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { run } from "./run.ts";

const ROOT = join(import.meta.dirname, "..");

/** Runs `node dev/launch.mjs` on a machine without Go and npm. */
async function launched(...args: readonly string[]) {
  const path = mkdtempSync(join(tmpdir(), "launch-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const argv = [join(ROOT, "dev", "launch.mjs"), ...args];
  return await run(process.execPath, argv, { mayFail: true, env: { ...process.env, PATH: path } });
}

/** Commands load much, and each waits for its turn on a machine with few processors. */
const PATIENT = { timeout: 60_000 };

const MACHINE = /^these tests need (Linux, )?(root, )?Go 1.26 or later, npm; without: npm run check, /;
const OPTION = /^\nUnknown option '--reporter'.*\n\nTests, from fast to slow: /;

test.each([
  ["all levels need the whole machine", ["test"], MACHINE],
  ["so they do with an option", ["test", "--keep"], MACHINE],
  ["the tests with real etcd processes do", ["test", "etcd"], MACHINE],
  [
    "the unit tests do not, also of files that are called like a level",
    ["test", "unit", "etcd", "--reporter=x"],
    OPTION,
  ],
  ["nor does the simulation", ["test", "simulation", "--reporter=x"], OPTION],
  ["nor do mutants", ["test", "mutants", "--reporter=x"], OPTION],
  [
    "a local Kubernetes needs the machine",
    ["local", "up"],
    /^a local Kubernetes needs .*npm start -- --kubeconfig FILE/,
  ],
])("launch: %s", PATIENT, async (_what, args, says) => {
  const { code, stderr } = await launched(...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(says) });
});

test.each(["start", "local", "test", "bench", "image", "manifests"])(
  "launch: %s tells its usage, which is no failure",
  PATIENT,
  async (command) => {
    const { code, stdout, stderr } = await launched(command, "--help");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringContaining("  npm "), stderr: "" });
  },
);
