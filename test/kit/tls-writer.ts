import { Agent, request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { eventually, type UserCluster } from "#kit/e2e.ts";
import { LONGEST_OUTAGE_MS } from "#kit/loaded-cluster.ts";
import { refusedIn } from "#kit/refused.ts";
import { secretTexts } from "#kit/user-tls.ts";
import type { KubeObject } from "#kube/kinds.ts";

/** The client looks whether it has been given something else as often as the kubelet brings it, in milliseconds. */
const READ_EVERY_MS = 60_000;
const WRITE_EVERY_MS = 200;
/** After a write that failed, in milliseconds. */
const AGAIN_MS = 20;

/**
 * A client that writes one number after another, and reads what it has been given again and again, as the kubelet shows it to a pod. What is cut off
 * it tries once more.
 */
export class TlsWriter {
  /** From which Secret it shows what it shows; whom it believes the ConfigMap says. */
  secretName = "my-etcd-client";
  /** What it was told of writes that failed twice. */
  readonly failures: string[] = [];
  /** What it was told first of writes that did not succeed with their first try. */
  readonly firstWhy: string[] = [];
  acknowledged = 0;
  longestPauseMs = 0;
  readonly #cluster: UserCluster;
  #agent = new Agent();
  #readAtMs = Number.NEGATIVE_INFINITY;
  readonly #ends = new AbortController();
  #written: Promise<void>;

  constructor(cluster: UserCluster) {
    this.#cluster = cluster;
    this.#written = this.#write();
  }

  async end(): Promise<void> {
    this.#ends.abort();
    await this.#written;
    this.#agent.destroy();
  }

  /** From now on it shows this. */
  async turnTo(secretName: string): Promise<void> {
    this.secretName = secretName;
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    const before = this.acknowledged;
    await eventually(() => Promise.resolve(expect(this.acknowledged).toBeGreaterThan(before + 3)), 60_000);
  }

  /** The number that is stored. */
  async stored(): Promise<number> {
    const { kvs } = (await this.#ask("range", { key: encoded("n") })) as { kvs: { value: string }[] };
    return Number(Buffer.from(kvs[0]?.value ?? "", "base64").toString());
  }

  async #write(): Promise<void> {
    let acknowledgedAtMs = Date.now();
    while (!this.#ends.signal.aborted) {
      await this.#reread();
      const isWritten = (await this.#put(this.firstWhy)) || (await this.#put(this.failures));
      if (isWritten) {
        this.acknowledged += 1;
        this.longestPauseMs = Math.max(this.longestPauseMs, Date.now() - acknowledgedAtMs);
        acknowledgedAtMs = Date.now();
      }
      await sleep(WRITE_EVERY_MS);
    }
  }

  /** @param told gets what it was told if that failed */
  async #put(told: string[]): Promise<boolean> {
    try {
      await this.#ask("put", { key: encoded("n"), value: encoded(String(this.acknowledged + 1)) });
      return true;
    } catch (thrown) {
      const { code, message } = thrown as Error & { code?: string };
      told.push(`${code} ${message}`);
      await sleep(AGAIN_MS);
      return false;
    }
  }

  /** Who cannot be told anything new goes on with what there is, as a pod does. */
  async #reread(): Promise<void> {
    if (Date.now() - this.#readAtMs < READ_EVERY_MS) return;
    await this.#read().catch(() => undefined);
  }

  async #read(): Promise<void> {
    const given = await secretTexts(this.#cluster, this.secretName);
    const { data } = await this.#cluster.json<KubeObject & { data: Record<string, string> }>(
      "get",
      "configmap",
      "my-etcd-ca",
    );
    const before = this.#agent;
    const { "tls.crt": cert, "tls.key": key } = given;
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ca: data["ca.crt"], cert, key });
    before.destroy();
    this.#readAtMs = Date.now();
  }

  async #ask(what: "put" | "range", body: object): Promise<unknown> {
    const host = `my-etcd-client.${this.#cluster.namespace}.svc.cluster.local`;
    const servername = `my-etcd-client.${this.#cluster.namespace}.svc`;
    const options = { host, port: 2379, servername, path: `/v3/kv/${what}`, method: "POST", agent: this.#agent };
    return await new Promise((resolve, reject) => {
      const asked = request({ ...options, timeout: 10_000 }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("error", reject);
        answer.on("end", () => {
          if (answer.statusCode === 200) resolve(JSON.parse(text));
          else reject(new Error(`${answer.statusCode} ${text}`));
        });
      });
      asked.on("timeout", () => asked.destroy(new Error("no answer")));
      asked.on("error", reject);
      asked.end(JSON.stringify(body));
    });
  }
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** Nothing has failed twice, nobody's certificate was refused, be it with the first try, and nothing that was acknowledged is lost. */
export async function expectServed(writer: TlsWriter): Promise<void> {
  expect(writer.failures).toEqual([]);
  expect(refusedIn(writer.firstWhy)).toEqual([]);
  expect(writer.longestPauseMs).toBeLessThan(LONGEST_OUTAGE_MS);
  // One that was under way when it was asked for may be stored besides.
  const { acknowledged } = writer;
  expect(await eventually(() => writer.stored())).toBeGreaterThanOrEqual(acknowledged);
}
