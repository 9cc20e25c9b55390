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

/** A long timeout: commands load many modules, and run in parallel on a machine with few processors. */
const PATIENT = { timeout: 60_000 };

const MACHINE =
  /^These tests need (Linux, )?(root, )?Go 1.26 or later, npm. These commands need none of them: npm run check, /;
const OPTION = /^\nUnknown option '--reporter'.*\n\nTests, from fast to slow: /;

test.each([
  ["all levels need root, Go and npm", ["test"], MACHINE],
  ["all levels with an option need them, too", ["test", "--keep"], MACHINE],
  ["tests with real etcd processes need them", ["test", "etcd"], MACHINE],
  [
    "unit tests do not need them, also when a file is named like a level",
    ["test", "unit", "etcd", "--reporter=x"],
    OPTION,
  ],
  ["the simulation does not need them", ["test", "simulation", "--reporter=x"], OPTION],
  ["mutants do not need them", ["test", "mutants", "--reporter=x"], OPTION],
  ["a local Kubernetes needs them", ["local", "up"], /^A local Kubernetes needs .*npm start -- --kubeconfig FILE/],
])("launch: %s", PATIENT, async (_what, args, expected) => {
  const { code, stderr } = await launched(...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(expected) });
});

test.each(["start", "local", "test", "bench", "image", "manifests"])(
  "launch: %s --help prints the usage and succeeds",
  PATIENT,
  async (command) => {
    const { code, stdout, stderr } = await launched(command, "--help");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringContaining("  npm "), stderr: "" });
  },
);
