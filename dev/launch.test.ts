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
  ["`test` for all levels needs root, Go and npm", ["test"], MACHINE],
  ["`test --keep` for all levels needs root, Go and npm", ["test", "--keep"], MACHINE],
  ["`test etcd` needs Go and npm", ["test", "etcd"], MACHINE],
  [
    "`test unit` needs neither, even with a file filter named like a level",
    ["test", "unit", "etcd", "--reporter=x"],
    OPTION,
  ],
  ["`test simulation` needs neither Go nor npm", ["test", "simulation", "--reporter=x"], OPTION],
  ["`test mutants` needs neither Go nor npm", ["test", "mutants", "--reporter=x"], OPTION],
  ["`local up` reports what it needs", ["local", "up"], /^A local Kubernetes needs .*npm start -- --kubeconfig FILE/],
])("launch: %s", PATIENT, async (_what, args, expected) => {
  const { code, stderr } = await launched(...args);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(expected) });
});

test.each(["start", "local", "test", "bench", "image", "manifests", "chart", "release"])(
  "launch: %s --help prints the usage and succeeds",
  PATIENT,
  async (command) => {
    const { code, stdout, stderr } = await launched(command, "--help");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringContaining("  npm "), stderr: "" });
  },
);
