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
  return clusterSpecSchema.parse({ replicas: 3, version: "3.6.16", ...(tls === undefined ? {} : { tls }) });
}

function withTls(tls: object | undefined): EtcdCluster {
  return { metadata: { name: "my-etcd" }, spec: specWith(tls) } as EtcdCluster;
}

const HOUR_MS = 3_600_000;

describe("without spec.tls", () => {
  const cluster = withTls(undefined);
  test("no provider issues certificates", () => {
    expect(providerOf(cluster.spec, "peer")).toBe("None");
    expect(providerOf(cluster.spec, "client")).toBe("None");
  });
  test("connections are not encrypted", () => {
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
  { name: "with the schema's defaults", cluster: withTls({}) },
  { name: "without the schema's defaults", cluster: { ...withTls({}), spec: { tls: {} } } as EtcdCluster },
])("an empty spec.tls, $name", ({ cluster }) => {
  test("has certificates issued by the operator, on both sides", () => {
    expect(providerOf(cluster.spec, "peer")).toBe("Operator");
    expect(providerOf(cluster.spec, "client")).toBe("Operator");
    expect(peerSchemeOf(cluster.spec)).toBe("https");
    expect(clientScheme(cluster)).toBe("https");
    expect(areClientsVerified(cluster.spec)).toBe(true);
  });
  test("has the Secrets with default names", () => {
    expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual([
      "my-etcd-peer-tls",
      "my-etcd-server-tls",
      "my-etcd-operator-tls",
    ]);
  });
  test("has certificates that are valid for 90 days and renewed 30 days before they expire", () => {
    expect(lifeOf(cluster.spec, "peer")).toEqual({ durationMs: 2_160 * HOUR_MS, renewBeforeMs: 720 * HOUR_MS });
  });
});

test("user-provided Secrets have the names in spec.tls", () => {
  const cluster = withTls({
    peer: { provider: "Secret", secret: { name: "a" } },
    client: {
      provider: "Secret",
      secret: { server: { name: "b" }, operator: { name: "c" } },
      clientCertificates: "NotRequired",
    },
  });
  expect([peerSecretName(cluster), serverSecretName(cluster), operatorSecretName(cluster)]).toEqual(["a", "b", "c"]);
  expect(areClientsVerified(cluster.spec)).toBe(false);
});

test("a Secret filled by cert-manager has a name that depends on the issuer", () => {
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

test("peers may be without TLS while clients use TLS", () => {
  const cluster = withTls({ peer: { provider: "None" } });
  expect(peerSchemeOf(cluster.spec)).toBe("http");
  expect(clientScheme(cluster)).toBe("https");
  expect(peerSecretName(cluster)).toBeUndefined();
});

test.each([
  { given: { duration: "30m" }, durationMs: 30 * 60_000, renewBeforeMs: 10 * 60_000 },
  { given: { duration: "30m", renewBefore: "29m" }, durationMs: 30 * 60_000, renewBeforeMs: 29 * 60_000 },
  { given: { renewBefore: "24h" }, durationMs: 2_160 * HOUR_MS, renewBeforeMs: 24 * HOUR_MS },
])("the duration and renewal of certificates with $given", ({ given, durationMs, renewBeforeMs }) => {
  expect(lifeOf(specWith({ client: given }), "client")).toEqual({ durationMs, renewBeforeMs });
});

test("the operator uses its previous client certificate until members use the new provider", () => {
  const secret = { server: { name: "b" }, operator: { name: "c" } };
  const cluster = withTls({ client: { provider: "Secret", secret } });
  const showing = (client: object) =>
    ({ ...cluster, status: { tls: { client: { issuedBy: client } } } }) as EtcdCluster;
  expect(operatorSecretName(cluster)).toBe("c");
  expect(operatorSecretName(showing({ provider: "Operator" }))).toBe("my-etcd-operator-tls");
  expect(askedOperatorSecretName(showing({ provider: "Operator" }))).toBe("c");
  const before = { provider: "Secret", secret: { ...secret, operator: { name: "d" } } };
  expect(operatorSecretName(showing(before))).toBe("d");
  const none = withTls({ client: { provider: "None" } });
  expect(
    operatorSecretName({ ...none, status: { tls: { client: { issuedBy: before } } } } as EtcdCluster),
  ).toBeUndefined();
});
