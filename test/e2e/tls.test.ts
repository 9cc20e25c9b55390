import { readFileSync } from "node:fs";
import { get } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { foundInBodies } from "#kit/e2e/audit-log.ts";
import { eventually, instance, kubectl, PATIENT_ETCDCTL, testNamespace, UserCluster } from "#kit/e2e/e2e.ts";
import { metricsOfOperators } from "#kit/e2e/operator-metrics.ts";
import { TlsAccidents } from "#kit/e2e/tls-accidents.ts";
import { RESTORED_MS, UserBackups } from "#kit/e2e/user-backups.ts";
import { allShown, lives, MEMBERS, type Shown, secretTexts } from "#kit/e2e/user-tls.ts";
import { newAuthority } from "#kit/etcd/authority.ts";
import { expectGoodCertificates } from "#kit/tables/judged-certificates.ts";
import type { KubeList, KubeObject, Pod, Secret } from "#kube/kinds.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// A cluster with TLS as people use it: they enable it, mount one Secret, and run etcdctl. Certificates are valid for
// ten minutes and renewed after one, so everything else here happens while certificates are renewed.

const LIFE = { provider: "Operator", duration: "10m", renewBefore: "9m" } as const;
const LIFE_MS = 600_000;
const TLS = { peer: LIFE, client: LIFE } as const;
/** Certificates are renewed after a minute; the kubelet updates the files within one or two more. */
const RENEWED_MS = 240_000;

let namespace: Awaited<ReturnType<typeof testNamespace>>;
let cluster: UserCluster;
let backups: UserBackups;
/** A cluster in which only certificates are renewed, and its initial state. */
let quietNamespace: Awaited<ReturnType<typeof testNamespace>>;
let quiet: UserCluster;
let atFirst: { readonly lives: readonly string[]; readonly shown: ReadonlyMap<string, Shown> };
/** A cluster with accidents to its Secrets, which happen while the first cluster is tested. */
let accidentsNamespace: Awaited<ReturnType<typeof testNamespace>>;
let accidents: TlsAccidents;

beforeAll(async () => {
  namespace = await testNamespace("tls");
  cluster = new UserCluster(namespace.name);
  backups = new UserBackups(cluster);
  quietNamespace = await testNamespace("tls-quiet");
  quiet = new UserCluster(quietNamespace.name);
  for (const each of [cluster, quiet]) await each.create({ replicas: 3, tls: TLS });
  accidentsNamespace = await testNamespace("tls-accidents");
  accidents = await TlsAccidents.begin(accidentsNamespace.name);
  await quiet.untilReady();
  atFirst = { lives: await lives(quiet), shown: await allShown(quiet) };
  await cluster.untilReady();
  await startApplication("app", "my-etcd");
  await accidents.happen();
});
afterAll(async () => {
  await namespace[Symbol.asyncDispose]();
  await quietNamespace?.[Symbol.asyncDispose]();
  await accidentsNamespace?.[Symbol.asyncDispose]();
});

/** Starts the pod of the example for the named cluster. */
async function startApplication(name: string, of: string): Promise<void> {
  const text = readFileSync("examples/tls.yaml", "utf8").replaceAll("orders-client", `${of}-client`);
  const pod = parseAllDocuments(text)[1]?.toJS() as KubeObject;
  await cluster.apply({ ...pod, metadata: { name } });
  await cluster.kubectl("wait", "--for=condition=Ready", `pod/${name}`, "--timeout=60s");
}

/** The pod's own `etcdctl watch` may end when its member stops: until the container has restarted, exec finds none. */
async function etcdctl(app: string, ...args: readonly string[]): Promise<string> {
  await cluster.kubectl("wait", "--for=condition=Ready", `pod/${app}`, "--timeout=60s");
  return await eventually(() => cluster.kubectl("exec", app, "--", ...PATIENT_ETCDCTL, ...args), 60_000);
}

/** @returns the value that the application reads after it has written it */
async function written(key: string, value: string, app = "app"): Promise<string> {
  await eventually(() => etcdctl(app, "put", key, value), 30_000);
  return (await etcdctl(app, "get", key, "--print-value-only")).trim();
}

function filesOf({ cert, key }: { readonly cert: string; readonly key: string }) {
  return { "tls.crt": cert, "tls.key": key };
}

test("members use TLS for peers and clients, and TLSReady reports valid certificates", async () => {
  const { status } = await cluster.untilCondition("TLSReady", "True", "CertificatesValid");
  expect(status?.identity).toMatchObject({ peerScheme: "https" });
  const list = await etcdctl("app", "member", "list");
  for (const member of MEMBERS) {
    expect(list).toContain(`https://${member}.my-etcd.${namespace.name}.svc:2380`);
    expect(list).toContain(`https://${member}.my-etcd.${namespace.name}.svc:2379`);
  }
});

describe("an application", () => {
  test("finds certificate, key, CA bundle and endpoints in one Secret, and the CA bundle also in a ConfigMap", async () => {
    expect(await written("a", "1")).toBe("1");
    const given = await secretTexts(cluster, "my-etcd-client");
    expect(Object.keys(given).sort()).toEqual(["ca.crt", "endpoints", "tls.crt", "tls.key"]);
    expect(given.endpoints).toBe(`https://my-etcd-client.${namespace.name}.svc:2379`);
    const { data } = await cluster.json<KubeObject & { data: object }>("get", "configmap", "my-etcd-ca");
    expect(data).toEqual({ "ca.crt": given["ca.crt"] });
  });

  test("gets access with its certificate, and none without a certificate or with that of another CA", async () => {
    const asked = (scheme: string) => {
      const at = `--endpoints=${scheme}://my-etcd-1.my-etcd.${namespace.name}.svc:2379`;
      return cluster.etcdctl("my-etcd-0", at, "--command-timeout=5s", "get", "a", "--print-value-only");
    };
    // etcdctl in a member's container shows the member's certificate.
    expect((await asked("https")).trim()).toBe("1");
    expect((await cluster.etcdctl("my-etcd-0", "get", "a", "--print-value-only")).trim()).toBe("1");
    // etcdctl reports only a deadline; the TLS handshakes below show the cause.
    await expect(asked("http")).rejects.toThrow(/deadline exceeded/);
    const given = await secretTexts(cluster, "my-etcd-client");
    const stranger = await (await newAuthority()).issue("anybody");
    expect(await answerAt(2379, given)).toBe("200");
    expect(await answerAt(2379, { "ca.crt": given["ca.crt"] ?? "" })).toMatch(/ALERT_CERTIFICATE_REQUIRED|ECONNRESET/);
    expect(await answerAt(2379, { ...given, ...filesOf(stranger) })).toMatch(/ALERT_UNKNOWN_CA|ECONNRESET/);
    expect(await answerAt(2379, { ...given, "ca.crt": stranger.cert })).toMatch(/UNABLE|SELF_SIGNED/);
  });

  test("cannot connect to the peer port with its client certificate or with a certificate of another CA", async () => {
    const given = await secretTexts(cluster, "my-etcd-client");
    const peers = await secretTexts(cluster, "my-etcd-peer-tls");
    const asked = (identity: Readonly<Record<string, string>>) => answerAt(2380, { ...peers, ...identity });
    expect(await asked({})).toBe("200");
    expect(await asked({ "tls.crt": given["tls.crt"] ?? "", "tls.key": given["tls.key"] ?? "" })).toMatch(
      /ALERT|ECONN/,
    );
    const stranger = await (await newAuthority()).issue(`my-etcd-0.my-etcd.${namespace.name}.svc`);
    expect(await asked(filesOf(stranger))).toMatch(/ALERT_UNKNOWN_CA|ECONNRESET/);
  });
});

/** Requests /version of the first member. @returns the status of the answer, or the code of the error */
async function answerAt(port: number, identity: Readonly<Record<string, string>>): Promise<string> {
  const host = `my-etcd-0.my-etcd.${namespace.name}.svc.cluster.local`;
  const { "ca.crt": ca, "tls.crt": cert, "tls.key": key } = identity;
  return await new Promise((resolve) => {
    get({ host, port, path: "/version", servername: host, ca, cert, key, agent: false }, (answer) => {
      answer.resume();
      resolve(String(answer.statusCode));
    }).on("error", (error) => resolve("code" in error ? String(error.code) : error.message));
  });
}

test("a member with a deleted pod returns as the same member", async () => {
  const pod = await cluster.podOf("my-etcd-1");
  await cluster.kubectl("delete", "pod", pod);
  await cluster.untilReady();
  expect(await written("back", "1")).toBe("1");
});

test("members are added and removed", async () => {
  await cluster.patch({ replicas: 5 });
  await cluster.untilReady(180_000);
  expect((await etcdctl("app", "endpoint", "health", "--cluster")).match(/is healthy/g)).toHaveLength(5);
  await cluster.patch({ replicas: 3 });
  await cluster.untilReady(180_000);
  expect((await etcdctl("app", "member", "list")).trim().split("\n")).toHaveLength(3);
}, 400_000);

test("a mismatched key in a provided Secret is reported, a deleted Secret of the operator is recreated, and no member restarts", async () => {
  await accidents.expectNoticed();
}, 500_000);

test("all members restart one after another when the pod template changes", async () => {
  const before = await lives(cluster);
  await cluster.patch({ podTemplate: { metadata: { annotations: { "example.com/again": "1" } } } });
  await eventually(async () => {
    const now = await lives(cluster);
    expect(now.filter((each) => before.includes(each))).toEqual([]);
  }, 240_000);
  await cluster.untilReady();
  expect(await written("rolled", "1")).toBe("1");
}, 330_000);

test(
  "a verified backup is restored into another cluster with TLS",
  async () => {
    expect(await written("kept", "in the backup")).toBe("in the backup");
    await backups.verifiedAndRestored({ replicas: 3, tls: TLS });
    await startApplication("app-of-restored", "restored");
    expect((await etcdctl("app-of-restored", "get", "kept", "--print-value-only")).trim()).toBe("in the backup");
    expect(await etcdctl("app-of-restored", "member", "list")).toContain(
      `https://restored-0.restored.${namespace.name}`,
    );
    // A client certificate of one cluster is not valid for the other.
    const [mine, theirs] = [
      await secretTexts(cluster, "my-etcd-client"),
      await secretTexts(cluster, "restored-client"),
    ];
    expect(await answerAt(2379, mine)).toBe("200");
    expect(await answerAt(2379, { ...theirs, "ca.crt": mine["ca.crt"] ?? "" })).toMatch(/ALERT_UNKNOWN_CA|ECONNRESET/);
  },
  RESTORED_MS + 300_000,
);

test("a cluster recreated from its claims without its Secrets keeps its identity and gets new CAs", async () => {
  const { clusterID } = (await cluster.get()).status?.identity ?? {};
  const before = await secretTexts(cluster, "my-etcd-client");
  await cluster.kubectl("delete", "etcdcluster", "my-etcd", "--cascade=foreground", "--timeout=120s");
  await cluster.create({ replicas: 3, tls: TLS });
  const { status } = await cluster.untilReady();
  expect(status?.identity).toMatchObject({ clusterID, peerScheme: "https" });
  expect((await secretTexts(cluster, "my-etcd-client"))["ca.crt"]).not.toBe(before["ca.crt"]);
  await startApplication("app-again", "my-etcd");
  expect((await etcdctl("app-again", "get", "kept", "--print-value-only")).trim()).toBe("in the backup");
  expect(await answerAt(2379, before)).not.toBe("200");
});

test("TLSReady is True again when the right key is restored, and members serve the recreated certificate", async () => {
  await accidents.expectOver();
}, 500_000);

// Runs late: the renewal that it waits for has been going on since the beginning.
test(
  "certificates are renewed and served without any restart",
  async () => {
    expect([atFirst.lives.length, atFirst.shown.size]).toEqual([MEMBERS.length, 2 * MEMBERS.length]);
    await eventually(async () => {
      for (const [where, shown] of await allShown(quiet)) {
        expect(shown.fingerprint, where).not.toBe(atFirst.shown.get(where)?.fingerprint);
        expect(shown.notAfterMs, where).toBeGreaterThan(
          atFirst.shown.get(where)?.notAfterMs ?? Number.POSITIVE_INFINITY,
        );
      }
    }, RENEWED_MS);
    expect(await lives(quiet)).toEqual(atFirst.lives);
    const at = `--endpoints=https://my-etcd-2.my-etcd.${quiet.namespace}.svc:2379`;
    const asked = (...words: readonly string[]) => quiet.etcdctl("my-etcd-1", at, ...words);
    await asked("put", "renewed", "1");
    expect((await asked("get", "renewed", "--print-value-only")).trim()).toBe("1");
    expect((await quiet.untilReady()).status?.members?.every(({ health }) => health === "Healthy")).toBe(true);
    await expectGoodCertificates(quiet, { lifeMs: LIFE_MS });
  },
  RENEWED_MS + 120_000,
);

/**
 * Searchable parts of each key in the Secrets of the namespaces, the operator's included. Parts are unique to a key:
 * lines of its PEM, and a piece of its base64.
 */
async function keyMaterial(): Promise<readonly string[]> {
  const lists = [namespace.name, quietNamespace.name, OPERATOR_NAMESPACE].map((at) =>
    kubectl.json<KubeList<Secret>>(["-n", at, "get", "secrets"]),
  );
  const items = (await Promise.all(lists)).flatMap((list) => list.items);
  return items.flatMap(({ data = {} }) =>
    Object.entries(data)
      .filter(([key]) => key.endsWith(".key"))
      .flatMap(([, text]) => {
        const lines = Buffer.from(text, "base64").toString().trim().split("\n").slice(1, -1);
        // The first line begins alike for all keys, and is left out.
        return [...lines.slice(1).filter((line) => line.length > 16), text.slice(120, 200)];
      }),
  );
}

/** Everything that is readable in the namespaces except Secrets, and the operator's logs and metrics. */
async function everythingTold(): Promise<string> {
  const verbs = ["--namespaced", "--verbs=list", "-o", "name"];
  const { stdout } = await kubectl.run(["api-resources", ...verbs]);
  const kinds = stdout.trim().split("\n").filter((kind) => kind !== "secrets"); // biome-ignore format: a sentence
  expect(kinds.length).toBeGreaterThan(20);
  const texts = [
    await cluster.kubectl("get", kinds.join(","), "-o", "json"),
    await cluster.kubectl("describe", "etcdcluster"),
    await kubectl.run(["get", "crd,validatingwebhookconfigurations", "-o", "json"]).then(({ stdout: text }) => text),
    ...(await metricsOfOperators(quietNamespace.name)),
  ];
  const logs = async (at: string) => {
    const { items } = await kubectl.json<KubeList<Pod>>(["-n", at, "get", "pods"]);
    for (const { metadata } of items) {
      const log = ["-n", at, "logs", metadata.name, "--all-containers", "--tail=-1"];
      texts.push(await kubectl.run(log).then(({ stdout }) => stdout, String));
    }
  };
  for (const at of [namespace.name, quietNamespace.name]) await logs(at);
  await logs(OPERATOR_NAMESPACE);
  return texts.join("\n");
}

test("no private key appears in objects, logs, metrics or request bodies", async () => {
  const needles = await keyMaterial();
  // Two clusters have two CAs each and four certificates each.
  expect(needles.length).toBeGreaterThan(20);
  const told = await everythingTold();
  for (const part of ["my-etcd-client", '"kind": "EtcdPeer"', '"kind": "Event"', "etcd_operator_leading", "caBundle"])
    expect(told).toContain(part);
  expect(needles.filter((needle) => told.includes(needle))).toEqual([]);
  expect(await foundInBodies(instance.logs, needles, namespace.name, "EtcdPeer")).toEqual({
    found: [],
    hasBodies: true,
  });
  const secrets = (await cluster.kubectl("get", "secrets", "-o", "json")).replaceAll("\n", "");
  const held = needles.filter((needle) => secrets.includes(needle) || decoded(secrets).includes(needle));
  expect(held.length).toBeGreaterThan(10); // Keys renewed in between are gone.
});

/** All base64 texts of the JSON, decoded. */
function decoded(json: string): string {
  return [...json.matchAll(/"([A-Za-z0-9+/]{100,}={0,2})"/g)]
    .map(([, text = ""]) => Buffer.from(text, "base64").toString())
    .join("\n");
}
