import { execFile } from "node:child_process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { TOO_LARGE } from "#api/beyond.ts";
import { BEYOND_V1ALPHA1_ANNOTATION as BEYOND, OPERATOR, WEBHOOKS } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { systemClock } from "#base/clock.ts";
import { asOperatorError } from "#base/error.ts";
import { ensureComponents } from "#dev/components.ts";
import type { ApiServer } from "#kit/servers/apiserver.ts";
import { startShipped } from "#kit/servers/shipped.ts";
import { definitionOf, leadAdmission, leadConversions, type Served, serve } from "#kit/servers/webhooks-apiserver.ts";
import { PLAIN } from "#kit/tables/pod-power.ts";
import type { KubeClient } from "#kube/client.ts";
import {
  CUSTOM_RESOURCE_DEFINITIONS,
  type Draft,
  type KubeObject,
  type Resource,
  resource,
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from "#kube/kinds.ts";
import { trustedBy } from "#webhooks/certificate/bundle.ts";
import { NOT_ALL_SHOWN, NOT_BY_HAND, PROTECTION_STAYS, TLS_STAYS } from "../../scripts/conversion-policy.ts";
import { OPERATOR_NAMESPACE } from "../../scripts/manifests.ts";

// A real API server converts EtcdClusters with the real webhook, as in the shipped manifests.

const OPTIONS = { signal: new AbortController().signal };
const MERGE = { ...OPTIONS, type: "merge" } as const;
const namespace = "foo";

interface Cluster extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
}

const BETA = ETCD_CLUSTERS as unknown as Resource<Cluster>;
const ALPHA: Resource<Cluster> = { ...BETA, version: "v1alpha1" };

/** Valid names of Secrets that look like a provider. */
const NAMED_NONE = { server: { name: "none" }, operator: { name: "provider-none" } };

const BINDINGS = resource<KubeObject>({
  group: "admissionregistration.k8s.io",
  version: "v1",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  namespaced: false,
});

let server: ApiServer;
let admin: KubeClient;
let operator: KubeClient;
let webhooks: Served;

beforeAll(async () => {
  ({ server, admin, operator } = await startShipped({ namespace }));
});
afterAll(async () => await server?.stop());

beforeEach(async () => {
  await lead();
  await vi.waitFor(() => admin.list(ALPHA, { namespace }, OPTIONS), { timeout: 30_000, interval: 200 });
  await made("probe", { replicas: 1 });
  await vi.waitFor(() => admin.get(ALPHA, { namespace, name: "probe" }, OPTIONS), { timeout: 30_000, interval: 200 });
});
afterEach(async () => {
  await webhooks.close();
  const { metadata } = await admin.get(BETA, { namespace, name: "probe" }, OPTIONS);
  await admin.delete(BETA, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
});

async function lead(): Promise<void> {
  webhooks = await serve(operator);
  await leadConversions(admin, webhooks.port);
  await leadAdmission(admin, webhooks.port);
  const { logged } = webhooks;
  await vi.waitFor(() => expect(logged.join("\n")).toContain("the webhooks use a new certificate"), {
    timeout: 30_000,
  });
}

async function made(name: string, spec: object, as: Resource<Cluster> = BETA, annotations?: object): Promise<Cluster> {
  const metadata = { namespace, name, ...(annotations && { annotations }) };
  const apiVersion = `${as.group}/${as.version}`;
  const whole = as === BETA ? { version: "3.6.16", ...spec } : spec;
  return await admin.create(as, { apiVersion, kind: as.kind, metadata, spec: whole } as Draft<Cluster>, OPTIONS);
}

async function read(name: string, as: Resource<Cluster> = BETA): Promise<Cluster> {
  return await admin.get(as, { namespace, name }, OPTIONS);
}

/** Every field of v1beta1. */
const EVERYTHING = {
  replicas: 5,
  version: "3.6.16",
  image: { repository: "registry.example/own/etcd", pullSecrets: [{ name: "registry" }] },
  storage: { size: "20Gi", accessModes: ["ReadWriteOnce"], storageClassName: "fast" },
  etcd: {
    backendQuota: { mode: "Fixed", size: "4Gi" },
    heartbeatInterval: "200ms",
    electionTimeout: "2s",
    extraArgs: { "max-txn-ops": "256" },
  },
  podTemplate: {
    metadata: { labels: { team: "storage" }, annotations: { "example.com/team": "storage" } },
    spec: {
      priorityClassName: "important",
      affinity: { nodeAffinity: {} },
      tolerations: [{ key: "dedicated", operator: "Exists" }],
      containers: [
        { name: "shipper", image: "registry.example/shipper:1", ...PLAIN },
        { name: "etcd", resources: { requests: { cpu: "1", memory: "8Gi" } }, env: [{ name: "A", value: "1" }] },
      ],
    },
  },
  clientService: { spec: { type: "LoadBalancer" }, metadata: { annotations: { "example.com/internal": "true" } } },
  updateStrategy: { type: "OnDelete", memberTimeout: "15m" },
  replacement: { policy: "Never" },
  disruptionBudget: { policy: "None" },
  monitoring: { podMonitor: { enabled: true, metadata: { labels: { release: "prometheus" } } } },
  paused: true,
};

describe("an EtcdCluster of v1alpha1", () => {
  test("can be read as v1beta1, and is unchanged when read as v1alpha1", async () => {
    const written = await made("slide", { replicas: 3 }, ALPHA);
    expect((await read("slide")).spec).toEqual({
      replicas: 3,
      version: "3.6.16",
      storage: { size: "8Gi", accessModes: ["ReadWriteOnce"] },
      tls: NO_TLS,
      podTemplate: {},
      clientService: { spec: { type: "ClusterIP" } },
      updateStrategy: { type: "RollingUpdate" },
      disruptionBudget: { policy: "Quorum" },
      paused: false,
    });
    const again = await read("slide", ALPHA);
    expect(again).toEqual(written);
    expect(again.spec).toMatchObject({
      storage: { volumeClaimTemplate: { resources: { requests: { storage: "8Gi" } } } },
    });
    expect(again.metadata.annotations).toBeUndefined();
    expect(webhooks.asked).toContain("/conversion 200");
  });

  test("is checked by the admission webhook for v1beta1 and by its own schema", async () => {
    webhooks.asked.length = 0;
    await made("checked", { replicas: 3 }, ALPHA);
    expect(webhooks.asked).toContain("/admission/etcdclusters 200");
    await expect(made("refused", { replicas: 9 }, ALPHA)).rejects.toThrow("spec.replicas");
    await expect(made("refused", { replicas: 3, storage: "much" }, ALPHA)).rejects.toThrow("spec.storage");
  });
});

describe("an annotation for fields that v1alpha1 lacks, when no conversion has written it,", () => {
  // Its conversion would bypass the schema of v1beta1.
  const planted = JSON.stringify({
    podTemplate: { spec: { containers: "text" } },
    disruptionBudget: { policy: "Bogus" },
  });

  test("is refused when a person adds it, and may be kept unchanged or removed", async () => {
    let number = 0;
    for (const text of [planted, "{"]) {
      // A policy applies a moment after its creation.
      const refused = async () =>
        await expect(made(`planted-${number++}`, { replicas: 3 }, ALPHA, { [BEYOND]: text })).rejects.toThrow(
          NOT_BY_HAND,
        );
      await vi.waitFor(refused, { timeout: 30_000, interval: 200 });
    }
    const name = "by-hand";
    await made(name, { replicas: 3, disruptionBudget: { policy: "None" } });
    const written = (annotation: string | null, spec: object) => {
      const patch = { metadata: { annotations: { [BEYOND]: annotation } }, spec };
      return admin.patch(ALPHA, { namespace, name }, patch, MERGE);
    };
    await expect(written(planted, {})).rejects.toThrow(NOT_BY_HAND);
    await written((await read(name, ALPHA)).metadata.annotations![BEYOND]!, { replicas: 5 });
    expect((await read(name)).spec).toMatchObject({ replicas: 5, disruptionBudget: { policy: "None" } });
    await written(null, {});
    expect((await read(name)).spec).toMatchObject({ replicas: 5, disruptionBudget: { policy: "Quorum" } });
    await expect(written(planted, {})).rejects.toThrow(NOT_BY_HAND);
  });
});

test("a v1alpha1 manifest without TLS cannot remove TLS, even without the webhook", async () => {
  const name = "of-before-tls";
  const tls = { peer: { provider: "Operator" }, client: { provider: "Operator" } };
  await made(name, { replicas: 3, tls });
  const alpha = await read(name, ALPHA);
  const { [BEYOND]: kept, ...others } = alpha.metadata.annotations ?? {};
  expect(kept).toContain('"tls":{');
  const config = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
  const none = await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...config, webhooks: [] }, OPTIONS);
  await systemClock.sleep(2_000, OPTIONS.signal); // until the API server has noticed
  const older = { ...alpha, metadata: { ...alpha.metadata, annotations: others } };
  await expect(admin.replace(ALPHA, older, OPTIONS)).rejects.toThrow(TLS_STAYS);
  await admin.replace(ALPHA, alpha, OPTIONS);
  expect((await read(name)).spec).toMatchObject({ tls });
  await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...none, webhooks: config.webhooks! }, OPTIONS);
  await deleted(ALPHA, name);
});

describe("whether the annotation with TLS fields may be removed from a v1alpha1 object:", () => {
  const none = { provider: "None" };
  const cases: { name: string; tls: object; isDropped: boolean }[] = [
    {
      name: "allowed with tls off and a version",
      tls: { peer: none, client: none, minVersion: "TLS1.3" },
      isDropped: true,
    },
    {
      name: "allowed with tls off and other client fields",
      tls: { peer: none, client: { ...none, clientCertificates: "NotRequired", plaintextFor: "5m" } },
      isDropped: true,
    },
    { name: "refused if clients use tls", tls: { peer: none, client: { provider: "Operator" } }, isDropped: false },
    {
      name: "refused if members use tls",
      tls: { peer: { provider: "CertManager", certManager: { issuerRef: { name: "None" } } }, client: none },
      isDropped: false,
    },
    {
      name: "refused even if names are none",
      tls: { peer: { provider: "Operator" }, client: { provider: "Secret", secret: NAMED_NONE } },
      isDropped: false,
    },
  ];
  test.each(cases)("$name", async ({ name: title, tls, isDropped }) => {
    const name = title.replaceAll(" ", "-");
    await made(name, { replicas: 3, tls });
    const { [BEYOND]: kept } = (await read(name, ALPHA)).metadata.annotations ?? {};
    expect(kept).toContain('"tls":{');
    const patch = { metadata: { annotations: { [BEYOND]: null } } };
    const written = admin.patch(ALPHA, { namespace, name }, patch, MERGE);
    if (isDropped) await written;
    else await expect(written).rejects.toThrow(TLS_STAYS);
    await deleted(ALPHA, name);
  });
});

test.each([
  ["auth", { auth: { enabled: false } }],
  ["network-policy", { networkPolicy: { enabled: true, clients: { policy: "Listed" } } }],
  ["replacement", { replacement: { policy: "Never" } }],
  ["quota", { etcd: { backendQuota: { mode: "Fixed", size: "4Gi" } } }],
])("a v1alpha1 manifest cannot remove the annotation with the fields of %s", async (title, spec) => {
  const name = `keeps-${title}`;
  await made(name, { replicas: 3, ...spec });
  const alpha = await read(name, ALPHA);
  const { [BEYOND]: _, ...others } = alpha.metadata.annotations ?? {};
  const older = { ...alpha, metadata: { ...alpha.metadata, annotations: others } };
  await expect(admin.replace(ALPHA, older, OPTIONS)).rejects.toThrow(PROTECTION_STAYS);
  await admin.replace(ALPHA, alpha, OPTIONS);
  expect((await read(name)).spec).toMatchObject(spec);
  await deleted(ALPHA, name);
});

/** Removes the policy and the webhook that check writes, as in releases before them. */
async function unguarded(work: () => Promise<unknown>): Promise<void> {
  const policy = await admin.get(BINDINGS, { name: `${OPERATOR}-conversion` }, OPTIONS);
  const config = await admin.get(VALIDATING_WEBHOOK_CONFIGURATIONS, { name: OPERATOR }, OPTIONS);
  await admin.delete(BINDINGS, policy.metadata, { ...OPTIONS, preconditions: { uid: policy.metadata.uid } });
  const none = await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...config, webhooks: [] }, OPTIONS);
  await systemClock.sleep(2_000, OPTIONS.signal); // until the API server has noticed
  await work();
  await admin.replace(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...none, webhooks: config.webhooks! }, OPTIONS);
  const { uid: _, resourceVersion: __, ...metadata } = policy.metadata;
  await admin.create(BINDINGS, { ...policy, metadata } as Draft<KubeObject>, OPTIONS);
  await systemClock.sleep(2_000, OPTIONS.signal);
}

async function deleted(as: Resource<Cluster>, name: string): Promise<void> {
  const { metadata } = await read(name, as);
  await admin.delete(as, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
}

/** Makes v1alpha1 the stored version, as in the previous release. */
async function storedAs(version: string): Promise<void> {
  const definition = await definitionOf(admin, BETA);
  const versions = definition.spec.versions.map((each) => ({ ...each, storage: each.name === version }));
  const { name } = definition.metadata;
  await admin.patch(CUSTOM_RESOURCE_DEFINITIONS, { name }, { spec: { versions } }, MERGE);
  await systemClock.sleep(3_000, OPTIONS.signal);
}

describe("an EtcdCluster that the previous release stored with an invalid annotation", () => {
  const texts = ["{", '{"podTemplate":{"spec":{"containers":[null]}}}', '{"paused":"maybe"}', TOO_LARGE];

  test("breaks no list, can be written in both versions, and can be deleted", async () => {
    const name = (index: number) => `of-old-${index}`;
    await unguarded(async () => {
      await storedAs("v1alpha1");
      for (const [index, text] of texts.entries()) await made(name(index), { replicas: 3 }, ALPHA, { [BEYOND]: text });
      await storedAs("v1beta1");
    });
    for (const as of [ALPHA, BETA]) {
      const { items } = await operator.list(as, {}, OPTIONS);
      const found = items.filter(({ metadata }) => metadata.name.startsWith("of-old-"));
      expect(found.map(({ metadata }) => metadata.annotations?.[BEYOND])).toEqual(texts);
    }
    for (const [index, text] of texts.entries()) {
      const ref = { namespace, name: name(index) };
      await admin.patch(BETA, ref, { spec: { replicas: 5 } }, MERGE);
      if (text === TOO_LARGE)
        await expect(admin.patch(ALPHA, ref, { spec: { replicas: 7 } }, MERGE)).rejects.toThrow(NOT_ALL_SHOWN);
      else await admin.patch(ALPHA, ref, { spec: { replicas: 7 } }, MERGE);
      const { metadata, spec } = await read(name(index));
      expect(metadata.annotations).toEqual({ [BEYOND]: text });
      expect(spec.replicas).toBe(text === TOO_LARGE ? 5 : 7);
      await deleted(index % 2 === 0 ? ALPHA : BETA, name(index));
    }
  }, 120_000);
});

describe("an EtcdCluster with more content than an annotation of v1alpha1 can hold", () => {
  const large = (name: string, bytes: number) => made(name, { replicas: 3, podTemplate: podTemplateOf(bytes) });
  const podTemplateOf = (bytes: number) => ({
    spec: { containers: [{ name: "side", image: "i", ...PLAIN, env: [{ name: "A", value: "x".repeat(bytes) }] }] },
  });

  test("is refused", async () => {
    await expect(large("too-large", 300_000)).rejects.toThrow("its spec has 300387 characters");
  });

  test("that was stored without a check breaks no list, and can be made smaller as v1beta1", async () => {
    const name = "unchecked";
    await unguarded(async () => await vi.waitFor(() => large(name, 300_000), { timeout: 30_000, interval: 200 }));
    const { items } = await admin.list(ALPHA, {}, OPTIONS);
    const shown = items.find(({ metadata }) => metadata.name === name);
    expect(shown?.metadata.annotations).toEqual({ [BEYOND]: TOO_LARGE });
    const edit = { spec: { replicas: 5 } };
    const edited = async () =>
      await expect(admin.patch(ALPHA, { namespace, name }, edit, MERGE)).rejects.toThrow(NOT_ALL_SHOWN);
    await vi.waitFor(edited, { timeout: 30_000, interval: 200 });
    const status = { ...MERGE, subresource: "status" };
    await expect(admin.patch(ALPHA, { namespace, name }, { status: { readyMembers: "3/3" } }, status)).rejects.toThrow(
      NOT_ALL_SHOWN,
    );
    await expect(admin.patch(BETA, { namespace, name }, edit, MERGE)).rejects.toThrow("Make it smaller");
    const smaller = { spec: { replicas: 5, podTemplate: podTemplateOf(1_000) } };
    await admin.patch(BETA, { namespace, name }, smaller, MERGE);
    expect((await read(name)).spec).toMatchObject(smaller.spec);
    await deleted(ALPHA, name);
  });

  test("cannot get the annotation in v1beta1", async () => {
    for (const text of ["{", '{"paused":true}'])
      await expect(made("by-hand-beta", { replicas: 3 }, BETA, { [BEYOND]: text })).rejects.toThrow(NOT_BY_HAND);
  });
});

describe("an EtcdCluster of v1beta1 with every field", () => {
  let number = 0;
  let name: string;
  beforeEach(async () => {
    name = `everything-${number++}`;
    expect((await made(name, EVERYTHING)).spec).toEqual(EVERYTHING);
  });

  test("is unchanged when it is read as v1alpha1 and written back", async () => {
    const alpha = await read(name, ALPHA);
    expect(alpha.apiVersion).toBe("etcd.improbable.io/v1alpha1");
    expect(alpha.spec).toEqual({
      replicas: 5,
      version: "3.6.16",
      storage: {
        volumeClaimTemplate: {
          accessModes: ["ReadWriteOnce"],
          volumeMode: "Filesystem",
          storageClassName: "fast",
          resources: { requests: { storage: "20Gi" } },
        },
      },
      podTemplate: {
        metadata: { annotations: { "example.com/team": "storage" } },
        resources: { requests: { cpu: "1", memory: "8Gi" } },
        affinity: { nodeAffinity: {} },
      },
    });
    const put = await admin.replace(ALPHA, alpha, OPTIONS);
    expect(put.metadata.generation).toBe(alpha.metadata.generation);
    expect((await read(name)).spec).toEqual(EVERYTHING);
  });

  test("keeps every field when its version is edited as v1alpha1", async () => {
    await admin.patch(ALPHA, { namespace, name }, { spec: { version: "3.6.17" } }, MERGE);
    expect((await read(name)).spec).toEqual({ ...EVERYTHING, version: "3.6.17" });
  });

  test("keeps every field when it is scaled as v1alpha1", async () => {
    const scale = { ...MERGE, subresource: "scale" };
    await admin.patch(ALPHA, { namespace, name }, { spec: { replicas: 7 } }, scale);
    expect((await read(name)).spec).toEqual({ ...EVERYTHING, replicas: 7 });
  });

  test("keeps every field with a server-side apply of v1alpha1", async () => {
    const metadata = { namespace, name };
    const draft = { apiVersion: "etcd.improbable.io/v1alpha1", kind: ALPHA.kind, metadata, spec: { replicas: 3 } };
    await admin.apply(ALPHA, draft, { ...OPTIONS, force: true });
    expect((await read(name)).spec).toEqual({ ...EVERYTHING, replicas: 3 });
  });

  test("keeps every field when kubectl applies the v1alpha1 manifest twice, with different numbers of members", async () => {
    const { kubectl } = await ensureComponents(["kubectl"], async (_text, work) => await work(() => {}));
    const apply = async (replicas: number): Promise<string> => {
      const metadata = { name, namespace };
      const manifest = { apiVersion: "etcd.improbable.io/v1alpha1", kind: "EtcdCluster", metadata, spec: { replicas } };
      return await new Promise((resolve, reject) => {
        const args = ["--kubeconfig", server.kubeconfig, "apply", "-f", "-"];
        const child = execFile(kubectl, args, (error, out) => (error ? reject(error) : resolve(out)));
        child.stdin?.end(JSON.stringify(manifest));
      });
    };
    for (const replicas of [3, 5]) {
      expect(await apply(replicas)).toContain("configured");
      expect((await read(name)).spec).toEqual({ ...EVERYTHING, replicas });
    }
    expect(await apply(5)).toContain("unchanged");
  }, 300_000);
});

describe("many EtcdClusters", () => {
  const COUNT = 500;
  const names = Array.from({ length: COUNT }, (_, index) => `many-${index}`);

  async function side(count: number, work: (name: string) => Promise<unknown>): Promise<void> {
    const queue = [...names];
    const worker = async () => {
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) await work(name);
    };
    await Promise.all(Array.from({ length: count }, worker));
  }

  test("can be listed and written in both versions while the webhook's certificate is replaced, and no call fails", async () => {
    await side(8, (name) => made(name, { ...EVERYTHING, replicas: 3 }));
    const load = { lists: 0, writes: 0, failed: [] as string[] };
    let isOver = false;
    const again = async (work: (turn: number) => Promise<void>) => {
      for (let turn = 0; !isOver; turn++)
        await work(turn).catch((thrown: unknown) => load.failed.push(asOperatorError(thrown).message));
    };
    const lister = (as: Resource<Cluster>) =>
      again(async () => {
        // After a change of the definition, the API server reads all its objects again and has each converted.
        const { items } = await admin.list(as, { namespace }, { ...OPTIONS, deadlineMs: 60_000 });
        const many = items.filter(({ metadata }) => metadata.name.startsWith("many-"));
        if (many.length !== COUNT) load.failed.push(`${many.length} in a list of ${as.version}`);
        if (many.some(({ apiVersion }) => apiVersion !== `${as.group}/${as.version}`))
          load.failed.push("another version");
        load.lists++;
      });
    const writer = (as: Resource<Cluster>, offset: number) =>
      again(async (turn) => {
        const name = names[(turn * 7 + offset) % COUNT]!;
        await admin.patch(as, { namespace, name }, { spec: { replicas: 3 + (turn % 4) } }, MERGE);
        load.writes++;
      });
    const workers = [lister(ALPHA), lister(BETA), writer(ALPHA, 0), writer(BETA, 3)];
    const trusted = async () => trustedBy((await definitionOf(admin, BETA)).spec.conversion!.webhook!.clientConfig!);
    const before = await trusted();
    try {
      await systemClock.sleep(3_000);
      const { metadata } = await admin.get(SECRETS, { namespace: OPERATOR_NAMESPACE, name: WEBHOOKS }, OPTIONS);
      await admin.delete(SECRETS, metadata, { ...OPTIONS, preconditions: { uid: metadata.uid } });
      const shown = () =>
        webhooks.logged.filter((line) => line.startsWith("the webhooks use a new certificate")).length;
      await vi.waitFor(() => expect(shown()).toBe(2), { timeout: 60_000 });
      await systemClock.sleep(3_000);
    } finally {
      isOver = true;
      await Promise.all(workers);
    }
    expect(load.failed).toEqual([]);
    expect(load.lists).toBeGreaterThan(10);
    expect(load.writes).toBeGreaterThan(50);
    const after = await trusted();
    expect(before).not.toContain(after[0]);
    expect(webhooks.asked.filter((each) => each.startsWith("/conversion") && !each.endsWith(" 200"))).toEqual([]);
    for (const { spec } of (await admin.list(BETA, { namespace }, OPTIONS)).items.filter(({ metadata }) =>
      metadata.name.startsWith("many-"),
    ))
      expect({ ...spec, replicas: 3 }).toEqual({ ...EVERYTHING, replicas: 3 });
    await side(8, async (name) => {
      const object = await read(name);
      await admin.delete(BETA, object.metadata, { ...OPTIONS, preconditions: { uid: object.metadata.uid } });
    });
  }, 240_000);
});

describe("without a running operator", () => {
  test("requests in v1beta1 work, and requests in v1alpha1 fail until an operator runs again", async () => {
    await made("lonely", { replicas: 3 });
    await webhooks.close();
    try {
      await expect(admin.get(ALPHA, { namespace, name: "lonely" }, { ...OPTIONS, deadlineMs: 3_000 })).rejects.toThrow(
        /conversion webhook for etcd.improbable.io\/v1beta1, Kind=EtcdCluster failed/,
      );
      await admin.patch(BETA, { namespace, name: "lonely" }, { spec: { replicas: 5 } }, MERGE);
      expect((await read("lonely")).spec.replicas).toBe(5);
    } finally {
      await lead();
    }
    await vi.waitFor(async () => expect((await read("lonely", ALPHA)).spec.replicas).toBe(5), { timeout: 30_000 });
  });
});
