import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { AGENT_COMMAND } from "#agent/task.ts";
import { bundle, OPERATOR_BUNDLE } from "./bundle.ts";
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

test("images with the same content have the same name", () => {
  expect(fingerprintOf(content())).toBe(fingerprintOf(content()));
});

test.each<[string, (image: ReturnType<typeof content>) => unknown]>([
  ["a library, as after a system update", ({ layers }) => writeFileSync(layers[0]?.files[0]?.from ?? "", "other")],
  ["the program", ({ layers }) => writeFileSync(layers[1]?.files[0]?.from ?? "", "other")],
  ["the path of a file", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { to: "/lib/elsewhere" })],
  ["the permissions of a file", ({ layers }) => Object.assign(layers[0]?.files[0] ?? {}, { mode: 0o644 })],
  ["the layers", ({ layers }) => layers[0]?.files.push(...(layers[1]?.files.splice(0) ?? []))],
  ["the flags of the program", ({ entrypoint }) => entrypoint.push("--flag")],
  ["the environment", ({ env }) => Object.assign(env, { A: "2" })],
  ["the user", (image) => Object.assign(image, { user: "2:2" })],
])("a change of %s changes the name", (_what, change) => {
  const before = fingerprintOf(content());
  const changed = content();
  change(changed);
  expect(fingerprintOf(changed)).not.toBe(before);
});

describe("private keys in memory are not exposed:", () => {
  /** Flags by which Node writes the heap or a report to a file, or opens a debugger. */
  const LEAKING =
    /^--(report|heapsnapshot|heap-prof|cpu-prof|prof|diagnostic-dir|abort-on-uncaught-exception|inspect|debug)/;

  test("no program of the image runs with a Node flag for dumps, reports or a debugger", () => {
    for (const flag of ["--report-on-fatalerror", "--heapsnapshot-signal=SIGUSR2", "--inspect=0.0.0.0:9229"])
      expect(flag).toMatch(LEAKING);
    for (const flag of [...NODE_FLAGS, ...AGENT_COMMAND]) expect(flag).not.toMatch(LEAKING);
    expect(Object.keys(ENVIRONMENT).filter((name) => name.startsWith("NODE_"))).toEqual(["NODE_ENV"]);
  });

  test("the operator opens no debugger on SIGUSR1", async () => {
    expect(await afterSignal([], 20_000)).toBe("open");
    // A short wait: nothing reports that no debugger will open.
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
  // Any port: no client connects.
  const args = ["--inspect-port=127.0.0.1:0", ...flags, "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim();
}

test("in the image the conversion thread is in the operator's folder, and converts JSON nested ten thousand levels deep", async () => {
  const { files } = await bundle(process.cwd(), OPERATOR_BUNDLE);
  expect(files.map(({ to }) => to).toSorted()).toEqual(["/app/conversion-worker.mjs", "/app/operator.mjs"]);
  const program = files.find(({ to }) => to.endsWith("conversion-worker.mjs"))?.from ?? "";
  // In a new thread: code that has run often needs less stack.
  const script = `
    import { Worker } from "node:worker_threads";
    import { MEMORY } from "#webhooks/conversion-thread.ts";
    const worker = new Worker(${JSON.stringify(program)}, { resourceLimits: MEMORY, execArgv: [] });
    const deep = '{"a":'.repeat(9_990) + 1 + "}".repeat(9_990);
    const spec = '{"replicas":3,"podTemplate":{"spec":{"affinity":' + deep + '}}}';
    const object = '{"apiVersion":"etcd.improbable.io/v1beta1","kind":"EtcdCluster","metadata":{"name":"a","namespace":"b"},"spec":' + spec + '}';
    const request = '{"uid":"1","desiredAPIVersion":"etcd.improbable.io/v1alpha1","objects":[' + object + ']}';
    const body = '{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":' + request + '}';
    worker.on("message", (message) => {
      if (message.is === "ready") return;
      const text = Buffer.from(message.body ?? "").toString();
      console.log(text.includes('"status":"Success"'), text.split('"a":').length - 1);
      process.exit();
    });
    worker.postMessage(new TextEncoder().encode(body));
  `;
  const args = [...NODE_FLAGS, "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe("true 9990\n");
});
