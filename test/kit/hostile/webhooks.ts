import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type Agent, request as httpsRequest } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from "node:tls";
import { build } from "esbuild";
import { CLUSTER_ADMISSION_PATH, CONVERSION_PATH } from "#api/names.ts";
import { BUNDLED } from "#dev/bundle.ts";
import { ENVIRONMENT, NODE_FLAGS } from "#dev/operator-image.ts";
import { JsonScan } from "#webhooks/json-scan.ts";
import type { Cost } from "./cost.ts";

/** The host name that the API server calls. */
export const HOST = "etcd-cluster-operator-webhooks.etcd-operator-system.svc";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/**
 * Bundles the program as in the image: compiling TypeScript at the start would add to the measured memory.
 * @param dir a new directory
 */
async function bundleTo(dir: string): Promise<string> {
  await build({
    ...BUNDLED,
    entryPoints: {
      webhooks: join(import.meta.dirname, "webhooks-child.ts"),
      "conversion-worker": join(ROOT, "src/webhooks/conversion-worker.ts"),
    },
    outdir: dir,
    absWorkingDir: ROOT,
  });
  return join(dir, "webhooks.mjs");
}

export interface Asked {
  readonly body: string | Buffer;
  readonly path?: string;
  /** Address of the client: 127.x.y.z. */
  readonly from?: string;
  readonly agent?: Agent;
}

export interface Got {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly text: string;
}

/** The operator's webhooks in their own process. `await using` ends it. */
export class HostileWebhooks implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #ca: string;

  readonly #dir: string;

  private constructor(child: ChildProcess, dir: string, { port, ca }: { port: number; ca: string }) {
    this.#child = child;
    this.#dir = dir;
    this.#port = port;
    this.#ca = ca;
  }

  static async start(): Promise<HostileWebhooks> {
    const dir = mkdtempSync(join(tmpdir(), "webhooks-"));
    let child: ChildProcess | undefined;
    try {
      child = fork(await bundleTo(dir), { execArgv: [...NODE_FLAGS], env: { ...process.env, ...ENVIRONMENT } });
      const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`webhooks ended with code ${code}`)));
      ended.catch(() => undefined); // it ends after the tests, too
      const [begun] = (await Promise.race([once(child, "message"), ended])) as [{ port: number; ca: string }];
      return new HostileWebhooks(child, dir, begun);
    } catch (thrown) {
      child?.kill("SIGKILL");
      rmSync(dir, { recursive: true });
      throw thrown;
    }
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async cost(): Promise<Cost> {
    const answer = once(this.#child, "message");
    this.#child.send("cost");
    const [cost] = (await answer) as [Cost];
    return cost;
  }

  /** Sends one request; never throws. */
  ask({ body, path = CONVERSION_PATH, from = "127.0.0.1", agent }: Asked): Promise<Got> {
    return new Promise((resolve) => {
      const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const options = { ...this.#to(from), method: "POST", path, headers, agent: agent ?? false };
      const request = httpsRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        response.on("error", () => resolve({ status: 0, text }));
      });
      request.on("error", () => resolve({ status: 0, text: "" }));
      request.end(body);
    });
  }

  /** A connection before its handshake. */
  async connected(from: string): Promise<Socket> {
    const socket = connect({ host: "127.0.0.1", port: this.#port, localAddress: from });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  /** A connection after its handshake. */
  shaken(from: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = tlsConnect({ ...this.#to(from), ...options } as ConnectionOptions, () => resolve(socket));
      socket.on("error", reject);
    });
  }

  #to(localAddress: string) {
    return { host: "127.0.0.1", port: this.#port, localAddress, servername: HOST, ca: this.#ca };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#dir, { recursive: true });
    if (!this.isAlive) return;
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}

const GROUP = "etcd.improbable.io";

/** A ConversionReview of these objects, each as JSON. */
export function conversionOf(...objects: readonly string[]): string {
  return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"${GROUP}/v1alpha1","objects":[${objects.join()}]}}`;
}

/** An AdmissionReview of an EtcdCluster, as JSON. */
export function admissionOf(object: string, oldObject = "null"): string {
  const operation = oldObject === "null" ? "CREATE" : "UPDATE";
  const kind = `{"group":"${GROUP}","version":"v1beta1","kind":"EtcdCluster"}`;
  return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":${kind},"operation":"${operation}","object":${object},"oldObject":${oldObject}}}`;
}

/** An EtcdCluster of v1beta1 as JSON, with this affinity in its pod template. No schema limits its content. */
export function clusterWith(affinity: string): string {
  const spec = `{"replicas":3,"version":"3.6.16","storage":{"size":"1Gi"},"podTemplate":{"spec":{"affinity":${affinity}}}}`;
  return `{"apiVersion":"${GROUP}/v1beta1","kind":"EtcdCluster","metadata":{"namespace":"foo","name":"my-etcd","uid":"1"},"spec":${spec}}`;
}

export const PATHS = { admission: CLUSTER_ADMISSION_PATH, conversion: CONVERSION_PATH };

/** How many parts the webhooks count in the JSON (src/webhooks/json-scan.ts). */
export function partsOf(json: string): number {
  const scan = new JsonScan({ maxDepth: Number.POSITIVE_INFINITY, maxParts: Number.POSITIVE_INFINITY });
  scan.take(Buffer.from(json));
  return scan.parts;
}

function filled(bytes: number, part: (n: number) => string): string {
  const parts: string[] = [];
  for (let length = 0, n = 0; length < bytes; n++) {
    const text = part(n);
    parts.push(text);
    length += text.length + 1;
  }
  return parts.join();
}

/** JSON of this many bytes that is expensive to parse, each in another way. */
export const SHAPES: Readonly<Record<string, (bytes: number) => string>> = {
  "open lists": (bytes) => "[".repeat(bytes),
  "open objects": (bytes) => '{"a":'.repeat(bytes / 5),
  "deep lists": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  "ten thousand levels": () => '{"a":'.repeat(9_990) + 1 + "}".repeat(9_990),
  numbers: (bytes) => `[${filled(bytes, () => "1")}]`,
  "one long number": (bytes) => "1".repeat(bytes),
  "empty lists": (bytes) => `[${filled(bytes, () => "[]")}]`,
  "empty objects": (bytes) => `[${filled(bytes, () => "{}")}]`,
  "objects with keys of their own": (bytes) => `[${filled(bytes, (n) => `{"${n.toString(36)}":1}`)}]`,
  "one object with many keys": (bytes) => `{${filled(bytes, (n) => `"${n.toString(36)}":1`)}}`,
  "one object with many numbers as keys": (bytes) => `{${filled(bytes, (n) => `"${n * 7_919}":1`)}}`,
  "one key again and again": (bytes) => `{${filled(bytes, () => '"a":1')}}`,
  "small texts": (bytes) => `[${filled(bytes, (n) => `"${n.toString(36)}"`)}]`,
  "one text": (bytes) => `"${"x".repeat(bytes)}"`,
  "one text of escapes": (bytes) => `"${"\\u00e9".repeat(bytes / 6)}"`,
  "what is no JSON": (bytes) => "x".repeat(bytes),
  blanks: (bytes) => " ".repeat(bytes),
};
