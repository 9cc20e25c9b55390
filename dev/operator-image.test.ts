import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { AGENT_COMMAND } from "#agent/task.ts";
import { ENVIRONMENT, fingerprintOf, NODE_FLAGS } from "./operator-image.ts";

const folder = mkdtempSync(join(tmpdir(), "operator-image-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

function content() {
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const program = { from: file("program", "one"), to: "/app/program", mode: 0o644 };
  const library = { from: file("library", "two"), to: "/lib/library", mode: 0o755 };
  return {
    layers: [{ files: [library] }, { files: [program] }],
    entrypoint: ["/app/program"],
    env: { A: "1" },
    user: "1:1",
  };
}

test("the same content has the same name", () => {
  expect(fingerprintOf(content())).toBe(fingerprintOf(content()));
});

test.each<[string, (image: ReturnType<typeof content>) => unknown]>([
  ["a library, as after a system update", ({ layers }) => writeFileSync(layers[0]?.files[0]?.from ?? "", "other")],
  ["the program", ({ layers }) => writeFileSync(layers[1]?.files[0]?.from ?? "", "other")],
  ["where a file lies", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { to: "/lib/elsewhere" })],
  ["the rights of a file", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { mode: 0o644 })],
  ["the layers", ({ layers }) => layers[0]?.files.push(...(layers[1]?.files.splice(0) ?? []))],
  ["the flags of the program", ({ entrypoint }) => entrypoint.push("--flag")],
  ["its environment", ({ env }) => Object.assign(env, { A: "2" })],
  ["its user", (image) => Object.assign(image, { user: "2:2" })],
])("another name comes with a change of %s", (_what, change) => {
  const before = fingerprintOf(content());
  const changed = content();
  change(changed);
  expect(fingerprintOf(changed)).not.toBe(before);
});

describe("what is in memory, keys among it, stays there:", () => {
  /** By these Node writes the heap, or what it knows of itself, to a file, or lets a debugger in. */
  const TELLING =
    /^--(report|heapsnapshot|heap-prof|cpu-prof|prof|diagnostic-dir|abort-on-uncaught-exception|inspect|debug)/;

  test("neither program is started so that Node writes dumps or reports, or waits for a debugger", () => {
    for (const flag of ["--report-on-fatalerror", "--heapsnapshot-signal=SIGUSR2", "--inspect=0.0.0.0:9229"])
      expect(flag).toMatch(TELLING);
    for (const flag of [...NODE_FLAGS, ...AGENT_COMMAND]) expect(flag).not.toMatch(TELLING);
    expect(Object.keys(ENVIRONMENT).filter((name) => name.startsWith("NODE_"))).toEqual(["NODE_ENV"]);
  });

  test("the operator opens no debugger when it is asked by a signal", async () => {
    expect(await afterSignal([], 20_000)).toBe("open");
    // What does not come at all can only be waited for.
    expect(await afterSignal(NODE_FLAGS, 300)).toBe("closed");
  });
});

/** Whether a process with these flags has a debugger open within so many milliseconds after a SIGUSR1. */
async function afterSignal(flags: readonly string[], withinMs: number): Promise<string> {
  const program = `
    const { url } = require("node:inspector");
    const end = (word) => { console.log(word); process.exit(); };
    setTimeout(end, ${withinMs}, "closed");
    setInterval(() => url() && end("open"), 5);
    process.kill(process.pid, "SIGUSR1");`;
  // Any port is good: nobody is to connect.
  const args = ["--inspect-port=127.0.0.1:0", ...flags, "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim();
}

test("with its flags the operator converts whatever an API server can store, ten thousand levels deep", async () => {
  // In a process that has just begun: what has run often needs less of the stack.
  const script = `
    import { conversion } from "#webhooks/conversion.ts";
    const deep = JSON.parse('{"a":'.repeat(9_990) + 1 + "}".repeat(9_990));
    const spec = { replicas: 3, podTemplate: { spec: { affinity: deep } } };
    const object = { apiVersion: "etcd.improbable.io/v1beta1", kind: "EtcdCluster", metadata: { name: "a", namespace: "b" }, spec };
    const request = { uid: "1", desiredAPIVersion: "etcd.improbable.io/v1alpha1", objects: [object] };
    const body = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview", request };
    const answer = await conversion({ log: { info: console.log } }).answer(body, new AbortController().signal);
    const text = JSON.stringify(answer);
    console.log(text.includes('"status":"Success"'), text.split('"a":').length - 1);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...NODE_FLAGS,
    "--input-type=module",
    "--eval",
    script,
  ]);
  expect(stdout).toBe("true 9990\n");
});
