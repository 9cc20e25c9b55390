import { describe, expect, test } from "vitest";
import { born } from "#kit/snapshots/cluster.ts";
import { secured, unissued } from "#kit/snapshots/cluster-tls.ts";
import type { Certificate, ConfigMap } from "#kube/kinds.ts";
import { certificateRequest, requestDiffers, trustMap, trustMapDiffers, trustMapPut } from "./certificates.ts";

const LABELS = {
  "app.kubernetes.io/name": "etcd",
  "app.kubernetes.io/managed-by": "etcd-cluster-operator",
  "etcd.improbable.io/cluster-name": "my-etcd",
};
const OWNERS = [{ kind: "EtcdCluster", name: "my-etcd", uid: "uid-of-cluster", controller: true }];

describe("the ConfigMap with the CAs", () => {
  const wanted = trustMap(secured(), "whom");
  const live = born<ConfigMap>(wanted);

  test("is owned by the cluster and contains only ca.crt", () => {
    expect(wanted).toMatchObject({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "foo", name: "my-etcd-ca", labels: LABELS, ownerReferences: OWNERS },
    });
    expect(wanted.data).toEqual({ "ca.crt": "whom" });
  });

  test("is written when its content differs", () => {
    expect(trustMapDiffers(live, wanted)).toBe(false);
    expect(trustMapDiffers({ ...live, data: { ...live.data, more: "theirs" } }, wanted)).toBe(false);
    expect(trustMapDiffers({ ...live, data: { "ca.crt": "other" } }, wanted)).toBe(true);
    const { data: _, ...empty } = live;
    expect(trustMapDiffers(empty, wanted)).toBe(true);
    expect(trustMapDiffers({ ...live, data: { "ca.crt": "other" } }, trustMap(secured(), "other"))).toBe(true);
  });
});

describe("labels and annotations of spec.caConfigMap", () => {
  const given = (metadata: object) => trustMap(secured({ spec: { caConfigMap: { metadata } } }), "whom");
  const wanted = given({ labels: { team: "a" }, annotations: { copy: "x" } });
  const live = born<ConfigMap>(wanted);

  test("are added to those of the operator", () => {
    expect(wanted.metadata).toMatchObject({ labels: { ...LABELS, team: "a" }, annotations: { copy: "x" } });
  });

  test("are restored when another client changes them, and other ones stay", () => {
    const { labels, annotations } = live.metadata;
    const changed = { ...live, metadata: { ...live.metadata, labels: { ...labels, team: "b" } } };
    const more = {
      ...live,
      metadata: { ...live.metadata, labels: { ...labels, mine: "m" }, annotations: { ...annotations, mine: "m" } },
    };
    expect([live, changed, more].map((each) => trustMapDiffers(each, wanted))).toEqual([false, true, false]);
    expect(trustMapPut(more, wanted).metadata).toMatchObject({ labels: { mine: "m" }, annotations: { mine: "m" } });
  });

  test("are removed when the spec no longer has them", () => {
    const plain = trustMap(secured(), "whom");
    expect(trustMapDiffers(live, plain)).toBe(true);
    const put = trustMapPut(live, plain);
    expect(put.metadata.labels).toEqual(plain.metadata.labels);
    expect(put.metadata.annotations).toEqual(plain.metadata.annotations);
  });
});

describe("a Certificate for cert-manager", () => {
  const issuerRef = { name: "my-issuer", kind: "ClusterIssuer" };
  const spec = {
    peer: { provider: "CertManager", certManager: { issuerRef: { name: "my-issuer" } } },
    client: {
      provider: "CertManager",
      certManager: { issuerRef: { ...issuerRef, group: "example.com" } },
      extraNames: ["etcd.example.com", "10.0.0.1"],
      duration: "24h",
      renewBefore: "90m",
    },
  };
  const given = unissued({}, spec);
  const server = certificateRequest(given, "server");
  const live = born<Certificate>(server);

  test("has the names and durations of the server certificate", () => {
    expect(server).toMatchObject({
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { namespace: "foo", name: "my-etcd-server-tls-9b582689", labels: LABELS, ownerReferences: OWNERS },
    });
    expect(server.spec).toEqual({
      secretName: "my-etcd-server-tls-9b582689",
      issuerRef: { ...issuerRef, group: "example.com" },
      dnsNames: [
        "*.my-etcd.foo.svc",
        "*.my-etcd.foo.svc.cluster.local",
        "localhost",
        "my-etcd",
        "my-etcd.foo",
        "my-etcd.foo.svc",
        "my-etcd.foo.svc.cluster.local",
        "my-etcd-client",
        "my-etcd-client.foo",
        "my-etcd-client.foo.svc",
        "my-etcd-client.foo.svc.cluster.local",
        "etcd.example.com",
      ],
      ipAddresses: ["127.0.0.1", "::1", "10.0.0.1"],
      usages: ["digital signature", "server auth", "client auth"],
      duration: "86400s",
      renewBefore: "5400s",
      privateKey: { algorithm: "ECDSA", size: 256, rotationPolicy: "Always" },
    });
  });

  test("has the names, usages and durations of the other certificates", () => {
    expect(certificateRequest(given, "peer").spec).toMatchObject({
      issuerRef: { name: "my-issuer", kind: "Issuer", group: "cert-manager.io" },
      dnsNames: ["*.my-etcd.foo.svc", "*.my-etcd.foo.svc.cluster.local", "localhost"],
      duration: "7776000s",
      renewBefore: "2592000s",
    });
    const operator = certificateRequest(given, "operator").spec;
    expect(operator).toMatchObject({
      commonName: "etcd-cluster-operator",
      usages: ["digital signature", "client auth"],
    });
    expect(Object.keys(operator ?? {})).not.toContain("dnsNames");
    expect(certificateRequest(given, "application")).toMatchObject({
      metadata: { name: "my-etcd-client-9b582689" },
      spec: { commonName: "my-etcd-client", secretName: "my-etcd-client-9b582689" },
    });
    expect(server.spec).not.toHaveProperty("commonName");
  });

  const changes: { name: string; change: object; differs: boolean }[] = [
    { name: "no change", change: {}, differs: false },
    { name: "fields that cert-manager sets", change: { revisionHistoryLimit: 1 }, differs: false },
    { name: "another Secret", change: { secretName: "other" }, differs: true },
    { name: "another issuer", change: { issuerRef: { name: "other" } }, differs: true },
    { name: "a common name", change: { commonName: "root" }, differs: true },
    { name: "fewer names", change: { dnsNames: ["localhost"] }, differs: true },
    { name: "no addresses", change: { ipAddresses: [] }, differs: true },
    { name: "other usages", change: { usages: ["any"] }, differs: true },
  ];
  test.each(changes)("requestDiffers is $differs with $name", ({ change, differs }) => {
    expect(requestDiffers({ ...live, spec: { ...live.spec!, ...change } }, server)).toBe(differs);
  });

  test("is written when the spec has changed", () => {
    const { spec: _, ...empty } = live;
    expect(requestDiffers(empty, server)).toBe(true);
    expect(
      requestDiffers(
        live,
        certificateRequest(unissued({}, { ...spec, client: { ...spec.client, duration: "25h" } }), "server"),
      ),
    ).toBe(true);
  });
});
