import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Answer } from "./choose-member.ts";
import { AgentError } from "./error.ts";
import { LastingSources } from "./source.ts";

// No etcd runs here: it matters which URL is asked, with which files.
const signal = new AbortController().signal;
let tlsDir = "";

beforeAll(async () => {
  tlsDir = await mkdtemp(join(tmpdir(), "sources-"));
});
afterAll(() => rm(tlsDir, { recursive: true }));

async function mounted(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(tlsDir, name), text);
}

describe("sources of a long-running task", () => {
  test("keep their connections until a TLS file changes", async () => {
    const sources = new LastingSources({ endpoints: ["https://127.0.0.1:1"], tlsDir });
    const asked = async (): Promise<readonly Answer["source"][]> =>
      (await sources.ask(signal, new Set())).map(({ source }) => source);
    await mounted({ "ca.crt": "ca", "tls.crt": "cert", "tls.key": "key" });
    const [first] = await asked();
    assert.ok(first !== undefined);
    assert.deepEqual(await asked(), [first]);
    for (const name of ["ca.crt", "tls.crt", "tls.key"]) {
      const [before] = await asked();
      await mounted({ [name]: `another ${name}` });
      const [after] = await asked();
      assert.notEqual(after, before, name);
      assert.equal((await asked())[0], after);
    }
    sources.close();
  });

  test("refuse a certificate without its key", async () => {
    await rm(join(tlsDir, "tls.key"));
    const sources = new LastingSources({ endpoints: ["https://127.0.0.1:1"], tlsDir });
    await assert.rejects(
      sources.ask(signal, new Set()),
      (thrown) => thrown instanceof AgentError && thrown.reason === "SourceTLS",
    );
  });
});
