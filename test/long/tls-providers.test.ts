import { Agent, request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TLS_LABEL } from "#api/names.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import type { KeyPair } from "#certificates/pem.ts";
import { eventually, kubectl, testNamespace, UserCluster } from "#kit/e2e.ts";
import { LONGEST_OUTAGE_MS } from "#kit/loaded-cluster.ts";
import type { KubeObject, Secret } from "#kube/kinds.ts";

// What members show comes from somewhere else, and from where it came before again, while a client writes without pause: nothing that was
// acknowledged is lost, and no certificate is refused, on either side.

/** Three times all members restart, and clients have two and a half minutes in between; on a busy machine. */
const CHANGED_MS = 1_500_000;
/** The client looks whether it has been given something else as often as the kubelet brings it, in milliseconds. */
const READ_EVERY_MS = 60_000;
const WRITE_EVERY_MS = 200;
const DAY_MS = 86_400_000;
const OPERATOR = { provider: "Operator", secret: null };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: {
    provider: "Secret",
    secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
  },
};

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let theirs: KeyPair;

beforeAll(async () => {
  namespace = await testNamespace("providers");
  cluster = new UserCluster(namespace.name);
  theirs = await newAuthority("their CA", { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + 30 * DAY_MS });
  const members = [0, 1, 2].map((ordinal) => `my-etcd-${ordinal}.my-etcd.${namespace.name}.svc`);
  const service = `my-etcd-client.${namespace.name}.svc`;
  await bring("their-peer", members, ["serverAuth", "clientAuth"]);
  await bring("their-server", [...members, service], ["serverAuth", "clientAuth"]);
  await bring("their-operator", [], ["clientAuth"], "the operator");
  await bring("their-application", [], ["clientAuth"], "an application");
  await cluster.create({
    replicas: 3,
    tls: { peer: { provider: "Operator" }, client: { provider: "Operator" } },
  } as never);
  await cluster.untilReady();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
});

/** A Secret that people fill. */
async function bring(
  name: string,
  names: readonly string[],
  usages: readonly ("serverAuth" | "clientAuth")[],
  commonName?: string,
): Promise<void> {
  const times = { fromMs: Date.now() - DAY_MS, untilMs: Date.now() + 10 * DAY_MS };
  const { certificate, key } = await newLeaf(theirs, { commonName, names, usages, ...times });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: namespace.name, name, labels: { [TLS_LABEL]: "true" } },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": certificate, "tls.key": key, "ca.crt": theirs.certificate },
  };
  await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify(secret) });
}

async function read(name: string): Promise<Readonly<Record<string, string>>> {
  const { data = {} } = await cluster.json<Secret>("get", "secret", name);
  return Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, "base64").toString()]));
}

/** A client that writes one number after another, and reads what it has been given again and again, as the kubelet shows it to a pod. */
class Writer {
  /** From which Secret it shows what it shows; whom it believes the ConfigMap says. */
  secretName = "my-etcd-client";
  readonly failures: string[] = [];
  acknowledged = 0;
  longestPauseMs = 0;
  #agent = new Agent();
  #readAtMs = Number.NEGATIVE_INFINITY;
  readonly #ends = new AbortController();
  readonly #written = this.#write();

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
      try {
        await this.#reread();
        await this.#ask("put", { key: encoded("n"), value: encoded(String(this.acknowledged + 1)) });
        this.acknowledged += 1;
        this.longestPauseMs = Math.max(this.longestPauseMs, Date.now() - acknowledgedAtMs);
        acknowledgedAtMs = Date.now();
      } catch (thrown) {
        const { code, message } = thrown as Error & { code?: string };
        this.failures.push(`${code} ${message}`);
      }
      await sleep(WRITE_EVERY_MS);
    }
  }

  async #reread(): Promise<void> {
    if (Date.now() - this.#readAtMs < READ_EVERY_MS) return;
    const given = await read(this.secretName);
    const { data } = await cluster.json<KubeObject & { data: Record<string, string> }>(
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
    const host = `my-etcd-client.${cluster.namespace}.svc.cluster.local`;
    const servername = `my-etcd-client.${cluster.namespace}.svc`;
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

/** Nobody's certificate was refused, and nothing that was acknowledged is lost. */
async function expectServed(writer: Writer): Promise<void> {
  expect(writer.failures.filter((each) => /CERT|ALERT|SELF_SIGNED|UNABLE|altname/i.test(each))).toEqual([]);
  expect(writer.longestPauseMs).toBeLessThan(LONGEST_OUTAGE_MS);
  // One that was under way when it was asked for may be stored besides.
  const { acknowledged } = writer;
  expect(await eventually(() => writer.stored())).toBeGreaterThanOrEqual(acknowledged);
}

test("from the operator to Secrets and back, under a writer", { timeout: 2 * CHANGED_MS + 300_000 }, async () => {
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  const { status } = await cluster.get();
  const clusterID = status?.identity?.clusterID;
  const writer = new Writer();
  await eventually(() => Promise.resolve(expect(writer.acknowledged).toBeGreaterThan(10)));

  await cluster.patch({ tls: BROUGHT });
  // Members show what people bring, and let in by what the operator has issued as long as an application may show that.
  await eventually(async () => {
    const { status: now } = await cluster.get();
    const told = now?.conditions?.find(({ type }) => type === "TLSReady");
    expect(told?.message).toContain("Secret my-etcd-client is signed by a former authority");
    expect(now?.tls).toMatchObject(BROUGHT);
  }, CHANGED_MS);
  await writer.turnTo("their-application");
  await cluster.kubectl("delete", "secret", "my-etcd-client");
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
  await expectServed(writer);

  await cluster.patch({ tls: { peer: OPERATOR, client: OPERATOR } });
  await cluster.untilCondition("TLSReady", "False", "CertificatesChanging", CHANGED_MS);
  // What the operator issues for applications is there once all members believe it.
  await eventually(() => read("my-etcd-client"), CHANGED_MS);
  await writer.turnTo("my-etcd-client");
  await cluster.untilCondition("TLSReady", "True", "CertificatesValid", CHANGED_MS);
  await cluster.untilCondition("UpToDate", "True", "UpToDate", CHANGED_MS);
  await expectServed(writer);
  await writer.end();
  expect((await cluster.untilReady()).status?.identity?.clusterID).toBe(clusterID);
});
