import { Agent, request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import type { KubeObject } from "#kube/kinds.ts";
import { eventually, type UserCluster } from "./e2e.ts";
import { LONGEST_OUTAGE_MS } from "./loaded-cluster.ts";
import { refusedIn } from "./refused.ts";
import { secretTexts } from "./user-tls.ts";

/** Interval in which the client reads its files again, in milliseconds, like the kubelet. */
const READ_EVERY_MS = 60_000;
const WRITE_EVERY_MS = 200;
/** Delay after a failed write, in milliseconds. */
const AGAIN_MS = 20;

/**
 * A client that writes one number after another, and reads its files again and again, as the kubelet updates them in a
 * pod. It repeats a request that was cut off once.
 */
export class TlsWriter {
  /** The Secret with its certificate; its CA bundle is in the ConfigMap. */
  secretName = "my-etcd-client";
  /** Errors of writes that failed twice. */
  readonly failures: string[] = [];
  /** Errors of first tries that failed. */
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

  /** Uses the certificate of this Secret from now on. */
  async turnTo(secretName: string): Promise<void> {
    this.secretName = secretName;
    this.#readAtMs = Number.NEGATIVE_INFINITY;
    const before = this.acknowledged;
    await eventually(() => Promise.resolve(expect(this.acknowledged).toBeGreaterThan(before + 3)), 60_000);
  }

  /** The stored number. */
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

  /** @param told gets the error of a failed write */
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

  /** A client that cannot read anything new continues with its files, as a pod does. */
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

/**
 * Checks that no write failed twice, no certificate was refused even at the first try, and no acknowledged write is
 * lost.
 */
export async function expectServed(writer: TlsWriter): Promise<void> {
  expect(writer.failures).toEqual([]);
  expect(refusedIn(writer.firstWhy)).toEqual([]);
  expect(writer.longestPauseMs).toBeLessThan(LONGEST_OUTAGE_MS);
  // A write in flight at this moment may be stored, too.
  const { acknowledged } = writer;
  expect(await eventually(() => writer.stored())).toBeGreaterThanOrEqual(acknowledged);
}
