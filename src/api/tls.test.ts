import { describe, expect, test } from "vitest";
import {
  applicationSecretName,
  areClientsVerified,
  askedOperatorSecretName,
  clientScheme,
  lifeOf,
  operatorSecretName,
  peerSchemeOf,
  peerSecretName,
  providerOf,
  serverSecretName,
} from "#api/tls.ts";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import { clusterSpecSchema } from "#api/v1beta1/cluster-schema.ts";

function specWith(tls: object | undefined): EtcdClusterSpec {
  return clusterSpecSchema.parse({ replicas: 3, ...(tls === undefined ? {} : { tls }) });
}

function withTls(tls: object | undefined): EtcdCluster {
  return { metadata: { name: "my-etcd" }, spec: specWith(tls) } as EtcdCluster;
}

const HOUR_MS = 3_600_000;

describe("without spec.tls", () => {
  const cluster = withTls(undefined);
  test("nobody issues anything", () => {
    expect(providerOf(cluster.spec, "peer")).toBe("None");
    expect(providerOf(cluster.spec, "client")).toBe("None");
  });
  test("nothing is encrypted", () => {
    expect(peerSchemeOf(cluster.spec)).toBe("http");
    expect(clientScheme(cluster)).toBe("http");
  });
  test("there are no Secrets", () => {
    expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe.each([
  { name: "as the schema fills it in", cluster: withTls({}) },
  { name: "as it came from where nothing is filled in", cluster: { ...withTls({}), spec: { tls: {} } } as EtcdCluster },
])("an empty spec.tls, $name", ({ cluster }) => {
  test("is issued by the operator, on both sides", () => {
    expect(providerOf(cluster.spec, "peer")).toBe("Operator");
    expect(providerOf(cluster.spec, "client")).toBe("Operator");
    expect(peerSchemeOf(cluster.spec)).toBe("https");
    expect(clientScheme(cluster)).toBe("https");
    expect(areClientsVerified(cluster.spec)).toBe(true);
  });
  test("has the usual Secrets", () => {
    expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual([
      "my-etcd-peer-tls",
      "my-etcd-server-tls",
      "my-etcd-operator-tls",
    ]);
  });
  test("is good for ninety days, and renewed when thirty are left", () => {
    expect(lifeOf(cluster.spec, "peer")).toEqual({ durationMs: 2_160 * HOUR_MS, renewBeforeMs: 720 * HOUR_MS });
  });
});

test("Secrets that somebody brings are named by who brings them", () => {
  const cluster = withTls({
    peer: { provider: "Secret", secret: { secretName: "a" } },
    client: {
      provider: "Secret",
      secret: { serverSecretName: "b", operatorClientSecretName: "c" },
      verifyClients: false,
    },
  });
  expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual(["a", "b", "c"]);
  expect(areClientsVerified(cluster.spec)).toBe(false);
});

test("what cert-manager issues has names that tell the issuer: another one fills other Secrets", () => {
  const by = (issuerRef: object) => {
    const issued = { provider: "CertManager", certManager: { issuerRef } };
    return withTls({ peer: issued, client: issued });
  };
  const cluster = by({ name: "corp" });
  expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual([
    "my-etcd-peer-tls-14e33387",
    "my-etcd-server-tls-14e33387",
    "my-etcd-operator-tls-14e33387",
  ]);
  expect(applicationSecretName(cluster)).toBe("my-etcd-client-14e33387");
  const others = [{ name: "other" }, { name: "corp", kind: "ClusterIssuer" }, { name: "corp", group: "example.com" }];
  expect(new Set([{ name: "corp" }, ...others].map((each) => peerSecretName(by(each)))).size).toBe(4);
  expect(peerSecretName(by({ name: "corp", kind: "Issuer", group: "cert-manager.io" }))).toBe(peerSecretName(cluster));
  expect(cluster.spec.tls?.peer.certManager?.issuerRef).toEqual({
    name: "corp",
    kind: "Issuer",
    group: "cert-manager.io",
  });
});

test("one side may be without", () => {
  const cluster = withTls({ peer: { provider: "None" } });
  expect(peerSchemeOf(cluster.spec)).toBe("http");
  expect(clientScheme(cluster)).toBe("https");
  expect(peerSecretName(cluster)).toBeUndefined();
});

test.each([
  { given: { duration: "30m" }, durationMs: 30 * 60_000, renewBeforeMs: 10 * 60_000 },
  { given: { duration: "30m", renewBefore: "29m" }, durationMs: 30 * 60_000, renewBeforeMs: 29 * 60_000 },
  { given: { renewBefore: "24h" }, durationMs: 2_160 * HOUR_MS, renewBeforeMs: 24 * HOUR_MS },
])("a life of $given", ({ given, durationMs, renewBeforeMs }) => {
  expect(lifeOf(specWith({ client: given }), "client")).toEqual({ durationMs, renewBeforeMs });
});

test("the operator shows what it showed before until the status says that members take the other one", () => {
  const secret = { serverSecretName: "b", operatorClientSecretName: "c" };
  const cluster = withTls({ client: { provider: "Secret", secret } });
  const showing = (client: object) => ({ ...cluster, status: { issuedBy: { client } } }) as EtcdCluster;
  expect(operatorSecretName(cluster)).toBe("c");
  expect(operatorSecretName(showing({ provider: "Operator" }))).toBe("my-etcd-operator-tls");
  expect(askedOperatorSecretName(showing({ provider: "Operator" }))).toBe("c");
  const before = { provider: "Secret", secret: { ...secret, operatorClientSecretName: "d" } };
  expect(operatorSecretName(showing(before))).toBe("d");
  const none = withTls({ client: { provider: "None" } });
  expect(operatorSecretName({ ...none, status: { issuedBy: { client: before } } } as EtcdCluster)).toBeUndefined();
});

test("what an earlier operator had cert-manager fill for it the operator shows until something else is on record", () => {
  const managed = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } };
  const cluster = withTls({ client: managed });
  const recording = (...names: readonly string[]) => {
    const certificates = names.map((name) => ({ name, notAfter: "2026-03-22T12:00:00Z", issuer: "CN=a" }));
    return { ...cluster, status: { certificates } } as EtcdCluster;
  };
  const asked = askedOperatorSecretName(cluster)!;
  expect(asked).toMatch(/^my-etcd-operator-tls-[0-9a-f]{8}$/);
  expect(operatorSecretName(recording("my-etcd-peer-tls", "my-etcd-operator-tls"))).toBe("my-etcd-operator-tls");
  expect(operatorSecretName(recording("my-etcd-operator-tls", asked))).toBe(asked);
  expect(operatorSecretName(recording("my-etcd-peer-tls"))).toBe(asked);
  expect(operatorSecretName(cluster)).toBe(asked);
  const known = { ...recording("my-etcd-operator-tls").status, issuedBy: { client: managed } };
  expect(operatorSecretName({ ...cluster, status: known } as EtcdCluster)).toBe(asked);
  const secret = { serverSecretName: "b", operatorClientSecretName: "c" };
  const { spec } = withTls({ client: { provider: "Secret", secret } });
  expect(operatorSecretName({ ...recording("my-etcd-operator-tls"), spec })).toBe("c");
});
