import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { parseAllDocuments } from "yaml";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { ETCD_CLUSTERS, type EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS, type EtcdPeer } from "#api/v1beta1/peer.ts";
import { serveKinds } from "#kit/servers/shipped.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { NAMESPACES } from "#kit/tables/kinds.ts";
import type { KubeClient } from "#kube/client.ts";
import { apiVersionOf, type Draft, PODS } from "#kube/kinds.ts";
import { podTemplate } from "#peer/desired/pod.ts";

// What the API server accepts, completes or refuses in spec.tls, and with which messages.

const { signal } = new AbortController();
const OPTIONS = { signal };
const namespace = "default";
let kube: KubeClient;

serveKinds([ETCD_CLUSTERS, ETCD_PEERS], ({ client }) => {
  kube = client;
});

let made = 0;

async function madeWith(tls: unknown): Promise<EtcdCluster> {
  const draft = {
    apiVersion: apiVersionOf(ETCD_CLUSTERS),
    kind: "EtcdCluster",
    metadata: { name: `secure-${made++}`, namespace },
    spec: { replicas: 3, version: "3.6.16", ...(tls === undefined ? {} : { tls }) },
  } as unknown as Draft<EtcdCluster>;
  return await kube.create(ETCD_CLUSTERS, draft, OPTIONS);
}

async function edited({ metadata: { name } }: EtcdCluster, tls: unknown): Promise<EtcdCluster> {
  return await kube.patch(ETCD_CLUSTERS, { namespace, name }, { spec: { tls } }, { signal, type: "merge" });
}

/** Writes the identity, as the operator does before it creates the members. */
async function identified(cluster: EtcdCluster): Promise<EtcdCluster> {
  const identity = { clusterID: "1", token: "a", initialMembers: [{ name: "a-0", id: "2", joined: false }] };
  return await kube.replace(ETCD_CLUSTERS, { ...cluster, status: { identity } }, { signal, subresource: "status" });
}

const ISSUER = { issuerRef: { name: "corp" } };
const SERVED = { server: { name: "a" }, operator: { name: "b" } };

test("the API server adds no default to a cluster without spec.tls", async () => {
  expect((await madeWith(undefined)).spec).not.toHaveProperty("tls");
});

test("a cluster with an empty spec.tls gets the defaults", async () => {
  expect((await madeWith({})).spec.tls).toEqual({
    peer: { provider: "Operator" },
    client: { provider: "Operator", clientCertificates: "Required" },
    minVersion: "TLS1.2",
  });
  const partly = { peer: { duration: "30m", renewBefore: "29m" }, client: { extraNames: ["etcd.example.com"] } };
  expect((await madeWith(partly)).spec.tls).toEqual({
    peer: { provider: "Operator", ...partly.peer },
    client: { provider: "Operator", clientCertificates: "Required", ...partly.client },
    minVersion: "TLS1.2",
  });
  const { spec } = await madeWith({ peer: { provider: "CertManager", certManager: ISSUER } });
  expect(spec.tls?.peer.certManager).toEqual({
    issuerRef: { name: "corp", kind: "Issuer", group: "cert-manager.io" },
  });
});

const taken = [
  { peer: { provider: "None" }, client: { provider: "None" } },
  { client: { extraNames: ["10.1.2.3", "fd00::1", "::1", "*.example.com", "a", "a-b.c1"] } },
  { client: { provider: "Secret", secret: SERVED, clientCertificates: "NotRequired" }, minVersion: "TLS1.3" },
  { peer: { provider: "CertManager", certManager: ISSUER, duration: "1h", renewBefore: "5m" } },
  {
    client: {
      provider: "CertManager",
      certManager: { issuerRef: { name: "corp", kind: "AWSPCAIssuer", group: "awspca.cert-manager.io" } },
    },
  },
  { cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"], minVersion: "TLS1.2" },
];
test.each(taken)("%j is accepted", async (tls) => {
  await madeWith(tls);
});

const NAME = "it must be a DNS name in small letters, such as etcd.example.com or *.example.com, or an IP address";
const refused: { tls: object; says: string }[] = [
  { tls: { peer: { provider: "Vault" } }, says: 'supported values: "Operator", "CertManager", "Secret", "None"' },
  {
    tls: { peer: { provider: "CertManager" } },
    says: "peer.certManager is missing, and provider is CertManager; it must be given with CertManager, and with nothing else",
  },
  {
    tls: { client: { certManager: ISSUER } },
    says: "client.certManager is given, and provider is Operator; it must be given with CertManager, and with nothing else",
  },
  {
    tls: { client: { provider: "Secret" } },
    says: "client.secret is missing, and provider is Secret; it must be given with Secret, and with nothing else",
  },
  {
    tls: { peer: { provider: "None", secret: { name: "a" } } },
    says: "peer.secret is given, and provider is None; it must be given with Secret, and with nothing else",
  },
  {
    tls: { client: { provider: "Secret", secret: { server: { name: "a" } } } },
    says: "secret.operator: Required value",
  },
  {
    tls: { peer: { provider: "Secret", secret: { name: "a" }, duration: "24h" } },
    says: "peer.duration or renewBefore is given, and provider is Secret; they must be left out",
  },
  {
    tls: { peer: { provider: "CertManager", certManager: { issuerRef: { name: "corp", kind: "Secret" } } } },
    says: "kind is Secret; in the group cert-manager.io it must be Issuer or ClusterIssuer",
  },
  { tls: { peer: { duration: "9m" } }, says: "it is 9m; it must be a duration from 10m to 87600h" },
  { tls: { peer: { renewBefore: "30s" } }, says: "it is 30s; it must be a duration from 5m to 87600h" },
  {
    tls: { peer: { duration: "1h", renewBefore: "1h" } },
    says: "peer.renewBefore is 1h; it must be less than duration, which is 1h",
  },
  {
    tls: { client: { renewBefore: "2160h" } },
    says: "client.renewBefore is 2160h; it must be less than duration, which is 2160h",
  },
  {
    tls: { peer: { provider: "CertManager", certManager: ISSUER, duration: "30m" } },
    says: "peer: cert-manager takes no duration below 1h, and no renewBefore below 5m",
  },
  ...["Etcd.example.com", "-a", "a..b", "10.1.2", "1.2.3.256", "a_b", "http://a", "*", "a.*.b", ":", "a.b:2379"].map(
    (name) => ({ tls: { client: { extraNames: [name] } }, says: `it is ${name}; ${NAME}` }),
  ),
  {
    tls: { client: { provider: "None", extraNames: ["a.b"] } },
    says: "client.extraNames is given, and provider is None; it must be left out",
  },
  {
    tls: { cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"], minVersion: "TLS1.3" },
    says: "tls.cipherSuites is given, and tls.minVersion is TLS1.3, which has no choice of suites; give only one of them",
  },
  {
    tls: { cipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"] },
    says: "tls.cipherSuites must hold TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
  },
  { tls: { cipherSuites: ["TLS_RSA_WITH_AES_128_CBC_SHA"] }, says: "Unsupported value" },
  { tls: { minVersion: "TLS1.1" }, says: 'supported values: "TLS1.2", "TLS1.3"' },
];
describe("the API server refuses, with the reason,", () => {
  test.each(refused)("$tls", async ({ tls, says }) => {
    await expect(madeWith(tls)).rejects.toMatchObject({
      code: "KubeInvalid",
      message: expect.stringContaining(says),
    });
  });
});

describe("on an existing cluster", () => {
  const NONE = { provider: "None" };
  const BROUGHT = { provider: "Secret", secret: SERVED };
  const ISSUED = { provider: "CertManager", certManager: ISSUER };

  test("TLS may be switched on, also if spec.tls was not set before", async () => {
    const plain = await madeWith({ peer: NONE, client: NONE });
    const { spec } = await edited(plain, { peer: { provider: "Operator" } });
    expect(spec.tls).toMatchObject({ peer: { provider: "Operator" }, client: NONE });
    const old = await identified(await madeWith(undefined));
    expect((await edited(old, {})).spec.tls).toEqual(DEFAULT_TLS);
  });

  test("plaintextFor may be changed", async () => {
    const plain = await madeWith({ peer: NONE, client: { ...NONE, plaintextFor: "0s" } });
    expect((await edited(plain, { client: { plaintextFor: "30m" } })).spec.tls?.client.plaintextFor).toBe("30m");
    await expect(edited(plain, { client: { plaintextFor: "soon" } })).rejects.toThrow(
      "it must be a duration from 0s to 8760h",
    );
  });

  test("spec.tls may be set or defaulted before the cluster has an identity", async () => {
    expect((await edited(await madeWith(undefined), {})).spec.tls).toEqual(DEFAULT_TLS);
    expect((await edited(await madeWith(undefined), NO_TLS)).spec.tls).toEqual(NO_TLS);
  });

  test("spec.tls cannot be removed by a manifest without spec.tls", async () => {
    const secure = await identified(await edited(await madeWith(undefined), DEFAULT_TLS));
    const { tls: _, ...spec } = secure.spec;
    await expect(kube.replace(ETCD_CLUSTERS, { ...secure, spec }, OPTIONS)).rejects.toThrow(
      "tls is missing, and was given; it must be given",
    );
    const draft = { apiVersion: secure.apiVersion, kind: secure.kind, spec: { replicas: 5 } };
    const ref = { namespace, name: secure.metadata.name };
    const applied = await kube.patch(ETCD_CLUSTERS, ref, draft, { signal, type: "merge" });
    expect(applied.spec).toMatchObject({ replicas: 5, tls: DEFAULT_TLS });
  });

  test("TLS may be switched off with the provider None", async () => {
    const secure = await madeWith({});
    await expect(edited(secure, null)).rejects.toThrow("tls is missing, and was given");
    expect((await edited(secure, { peer: NONE })).spec.tls?.peer.provider).toBe("None");
    expect((await edited(secure, { client: NONE })).spec.tls?.client.provider).toBe("None");
  });

  test("every change of provider is allowed, and names of Secrets and issuers may change", async () => {
    const peers = { provider: "Secret", secret: { name: "a" } };
    const secure = await madeWith({});
    await edited(secure, { peer: peers, client: BROUGHT });
    await edited(secure, { peer: { secret: { name: "b" } }, client: { secret: { server: { name: "other" } } } });
    const issued = { ...ISSUED, secret: null };
    await edited(secure, { peer: issued, client: issued });
    const another = { certManager: { issuerRef: { name: "other", kind: "ClusterIssuer" } } };
    await edited(secure, { peer: another, client: another });
    const own = { provider: "Operator", certManager: null };
    const { spec } = await edited(secure, { peer: own, client: own });
    expect([spec.tls?.peer.provider, spec.tls?.client.provider]).toEqual(["Operator", "Operator"]);
    await expect(edited(secure, { peer: { provider: "Secret" } })).rejects.toThrow("peer.secret is missing");
  });

  test("names, durations, clientCertificates and minVersion may be changed", async () => {
    const secure = await madeWith({});
    await edited(secure, { peer: { duration: "24h" } });
    await edited(secure, { client: { extraNames: ["a.b"], clientCertificates: "NotRequired", renewBefore: "24h" } });
    await edited(secure, { minVersion: "TLS1.3" });
  });
});

test("the example is accepted", async () => {
  const [cluster] = parseAllDocuments(readFileSync("examples/tls.yaml", "utf8"));
  const { tls } = (cluster!.toJS() as EtcdCluster).spec;
  expect((await madeWith(tls)).spec.tls).toMatchObject(tls ?? {});
});

test("the pod of a member with certificates is accepted under the Pod Security level restricted", async () => {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  const draft = { apiVersion: "v1", kind: "Namespace", metadata: { name: "restricted", labels } };
  await kube.create(NAMESPACES, draft, OPTIONS);
  const trust = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  const side = { secretName: "a", trust };
  const template = podTemplate(
    peer({ spec: { tls: { peer: side, client: { ...side, clientCertificates: "Required" } } } }),
  );
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    ...template,
    metadata: { ...template.metadata, namespace: "restricted", name: "a" },
  };
  // Pod Security notices the namespace after a moment: then it refuses a less confined pod.
  const loose = { ...pod, spec: { ...pod.spec, hostPID: true } };
  const judged = () =>
    expect(kube.create(PODS, loose as never, { ...OPTIONS, dryRun: true })).rejects.toThrow("restricted");
  await vi.waitFor(judged, { timeout: 30_000, interval: 200 });
  const made = await kube.create(PODS, pod as never, { ...OPTIONS, dryRun: true });
  expect(made.spec?.containers[0]?.startupProbe).toEqual(
    template.spec.containers[0]?.startupProbe && {
      ...template.spec.containers[0].startupProbe,
      successThreshold: 1,
    },
  );
  expect(made.spec?.volumes).toEqual(template.spec.volumes);
});

test("the TLS fields of an EtcdPeer, also those of its previous template, are stored as written", async () => {
  const trust = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";
  const signer = "0a".repeat(32);
  const tls = {
    peer: { secretName: "a", trust, signer },
    client: { secretName: "b", trust, clientCertificates: "NotRequired" },
  };
  const draft = {
    apiVersion: apiVersionOf(ETCD_PEERS),
    kind: "EtcdPeer",
    metadata: { name: "secure-9", namespace },
    spec: { clusterName: "secure", version: "3.6.16", tls, previous: { version: "3.6.16", tls } },
  } as unknown as Draft<EtcdPeer>;
  const { spec } = await kube.create(ETCD_PEERS, draft, OPTIONS);
  expect(spec.tls).toEqual(tls);
  expect(spec.previous?.tls).toEqual(tls);
  const patched = (peer: object) =>
    kube.patch(ETCD_PEERS, { namespace, name: "secure-9" }, { spec: { tls: { peer } } }, { signal, type: "merge" });
  await expect(patched({ secretName: "a", trust: "x".repeat(32_769) })).rejects.toThrow("may not be more than 32768");
  for (const wrong of ["", "me", signer.toUpperCase(), `${signer}0`])
    await expect(patched({ signer: wrong })).rejects.toThrow("spec.tls.peer.signer");
});
