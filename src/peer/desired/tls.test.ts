import { describe, expect, test } from "vitest";
import { peer } from "#kit/snapshots/peer.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { volumeClaim } from "#peer/desired/volume-claim.ts";

const PEERS = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
const CLIENTS = "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n";
const sides = {
  peer: { secretName: "my-etcd-peer-tls", trust: PEERS },
  client: { secretName: "my-etcd-server-tls", trust: CLIENTS },
};

function podOf(tls: object | undefined, spec: object = {}) {
  const given = peer({ stage: "starting", spec: { ...spec, ...(tls === undefined ? {} : { tls }) } });
  return replicaSet(given).spec!.template!;
}

function variablesOf(tls: object | undefined, spec: object = {}): Readonly<Record<string, string | undefined>> {
  const { env = [] } = podOf(tls, spec).spec!.containers[0]!;
  return Object.fromEntries(env.map(({ name, value }) => [name, value]));
}

const plain = podOf(undefined);

/** The variables that differ from those without certificates. */
function changedVariables(tls: object, spec: object = {}) {
  const before = variablesOf(undefined, spec);
  return Object.fromEntries(Object.entries(variablesOf(tls, spec)).filter(([name, value]) => before[name] !== value));
}

const HOST = "my-etcd-0.my-etcd.foo.svc";

describe("a member with peer and client certificates", () => {
  test("has https URLs and etcd's certificate flags", () => {
    expect(changedVariables(sides)).toEqual({
      ETCD_LISTEN_PEER_URLS: "https://0.0.0.0:2380",
      ETCD_LISTEN_CLIENT_URLS: "https://0.0.0.0:2379",
      ETCD_INITIAL_ADVERTISE_PEER_URLS: `https://${HOST}:2380`,
      ETCD_ADVERTISE_CLIENT_URLS: `https://${HOST}:2379`,
      ETCD_PEER_CERT_FILE: "/etc/etcd/tls/peer/tls.crt",
      ETCD_PEER_KEY_FILE: "/etc/etcd/tls/peer/tls.key",
      ETCD_PEER_TRUSTED_CA_FILE: "/etc/etcd/tls/peer/ca.crt",
      ETCD_PEER_CLIENT_CERT_AUTH: "true",
      ETCD_PEER_CERT_ALLOWED_HOSTNAME: HOST,
      ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION: "true",
      ETCD_CERT_FILE: "/etc/etcd/tls/client/tls.crt",
      ETCD_KEY_FILE: "/etc/etcd/tls/client/tls.key",
      ETCD_TRUSTED_CA_FILE: "/etc/etcd/tls/client/ca.crt",
      ETCD_CLIENT_CERT_AUTH: "true",
      ETCDCTL_CACERT: "/etc/etcd/tls/client/ca.crt",
      ETCDCTL_CERT: "/etc/etcd/tls/client/tls.crt",
      ETCDCTL_KEY: "/etc/etcd/tls/client/tls.key",
    });
  });

  test("has a peer certificate and http URLs when the peer scheme is http", () => {
    const variables = changedVariables({ peer: { ...sides.peer, scheme: "http" } });
    expect(variables).toMatchObject({
      ETCD_PEER_CERT_FILE: "/etc/etcd/tls/peer/tls.crt",
      ETCD_PEER_TRUSTED_CA_FILE: "/etc/etcd/tls/peer/ca.crt",
    });
    expect(Object.keys(variables).filter((name) => name.endsWith("_URLS"))).toEqual([]);
  });

  test("serves clients with and without TLS at one port when plaintext is set", () => {
    const client = { ...sides.client, plaintext: true };
    expect(changedVariables({ client })).toEqual({
      ...changedVariables({ client: sides.client }),
      ETCD_LISTEN_CLIENT_URLS: "http://0.0.0.0:2379,https://0.0.0.0:2379",
      ETCD_ADVERTISE_CLIENT_URLS: `http://${HOST}:2379,https://${HOST}:2379`,
    });
    expect(podOf({ client }).metadata?.annotations).toMatchObject({ "etcd.improbable.io/client-scheme": "https" });
  });

  test("serves metrics without TLS", () => {
    expect(variablesOf(sides).ETCD_LISTEN_METRICS_URLS).toBe("http://0.0.0.0:2381");
  });

  test("has its CAs in annotations, and mounts the certificates of its Secrets", () => {
    const { metadata, spec } = podOf(sides);
    expect(metadata?.annotations).toEqual({
      ...plain.metadata?.annotations,
      "etcd.improbable.io/peer-trust": PEERS,
      "etcd.improbable.io/client-trust": CLIENTS,
      "etcd.improbable.io/client-scheme": "https",
      "etcd.improbable.io/peer-scheme": "https",
      "etcd.improbable.io/revision": expect.not.stringMatching(
        plain.metadata?.annotations?.["etcd.improbable.io/revision"] ?? "",
      ),
    });
    expect(spec?.volumes).toEqual([
      ...(plain.spec?.volumes ?? []),
      projected("etcd-peer-tls", "my-etcd-peer-tls", "etcd.improbable.io/peer-trust"),
      projected("etcd-client-tls", "my-etcd-server-tls", "etcd.improbable.io/client-trust"),
    ]);
    expect(spec?.containers[0]?.volumeMounts).toEqual([
      ...(plain.spec?.containers[0]?.volumeMounts ?? []),
      { name: "etcd-peer-tls", mountPath: "/etc/etcd/tls/peer", readOnly: true },
      { name: "etcd-client-tls", mountPath: "/etc/etcd/tls/client", readOnly: true },
    ]);
  });

  test("has annotations with the CAs that signed its certificates, if the spec names them", () => {
    const signers = (tls: object) => {
      const all = Object.entries(podOf(tls).metadata?.annotations ?? {});
      return Object.fromEntries(all.filter(([key]) => key.endsWith("-signer")));
    };
    const [one, other] = ["a".repeat(64), "b".repeat(64)];
    expect(signers(sides)).toEqual({});
    const peer = { ...sides.peer, signer: one };
    expect(signers({ ...sides, peer })).toEqual({ "etcd.improbable.io/peer-signer": one });
    const client = { ...sides.client, signer: other };
    expect(signers({ ...sides, client })).toEqual({ "etcd.improbable.io/client-signer": other });
  });

  test("has a startup probe by etcdctl at the client port, and other probes at the metrics port", () => {
    const { startupProbe, livenessProbe, readinessProbe } = podOf(sides).spec!.containers[0]!;
    expect(startupProbe).toEqual({
      exec: {
        command: [
          "etcdctl",
          `--endpoints=https://${HOST}:2379`,
          "--dial-timeout=3s",
          "--command-timeout=3s",
          "endpoint",
          "status",
        ],
      },
      periodSeconds: 1,
      timeoutSeconds: 5,
      failureThreshold: 2_147_483_647,
    });
    const before = plain.spec?.containers[0];
    expect(livenessProbe).toEqual(before?.livenessProbe);
    expect(readinessProbe).toEqual({
      ...before?.readinessProbe,
      httpGet: { path: "/readyz", port: 2381, scheme: "HTTP" },
    });
  });

  test("otherwise has the same pod as a member without certificates", () => {
    const { spec } = podOf(sides);
    const [
      { env: _, volumeMounts: __, startupProbe: ___, readinessProbe: ____, ...etcd } = plain.spec!.containers[0]!,
    ] = [plain.spec!.containers[0]!];
    expect(spec).toMatchObject({ ...plain.spec, volumes: expect.anything(), containers: [etcd] });
    expect(Object.keys(spec ?? {})).toEqual(Object.keys(plain.spec ?? {}));
  });

  test("has a claim annotated with the peer scheme", () => {
    const annotationsOf = (spec: object) => volumeClaim(peer({ spec })).metadata.annotations;
    expect(annotationsOf({ tls: sides })).toEqual({ ...annotationsOf({}), "etcd.improbable.io/peer-scheme": "https" });
    expect(annotationsOf({ tls: { client: sides.client } })).toEqual(annotationsOf({}));
  });
});

function projected(name: string, secretName: string, annotation: string) {
  const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
  const fieldRef = { apiVersion: "v1", fieldPath: `metadata.annotations['${annotation}']` };
  return {
    name,
    projected: {
      defaultMode: 0o440,
      sources: [{ secret: { name: secretName, items } }, { downwardAPI: { items: [{ path: "ca.crt", fieldRef }] } }],
    },
  };
}

test("etcd 3.5 gets the experimental name of the flag that skips SAN verification", () => {
  const changed = Object.keys(changedVariables({ peer: sides.peer }, { version: "3.5.35" }));
  expect(changed).toContain("ETCD_EXPERIMENTAL_PEER_SKIP_CLIENT_SAN_VERIFICATION");
  expect(changed).not.toContain("ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION");
});

test("a member with only a peer certificate serves clients without TLS", () => {
  const template = podOf({ peer: sides.peer });
  expect(Object.keys(changedVariables({ peer: sides.peer })).filter((name) => !name.includes("PEER"))).toEqual([]);
  expect(template.metadata?.annotations).not.toHaveProperty("etcd.improbable.io/client-scheme");
  expect(template.spec?.volumes?.map(({ name }) => name)).toEqual(["etcd-data", "etcd-peer-tls"]);
  expect(template.spec?.containers[0]?.readinessProbe).toEqual(plain.spec?.containers[0]?.readinessProbe);
  expect(template.spec?.containers[0]?.startupProbe).toEqual(plain.spec?.containers[0]?.startupProbe);
});

test("etcd gets no CA when client certificates are not required, since it would request them", () => {
  const changed = changedVariables({ client: { ...sides.client, clientCertificates: "NotRequired" } });
  expect(Object.keys(changed).sort()).toEqual([
    "ETCDCTL_CACERT",
    "ETCDCTL_CERT",
    "ETCDCTL_KEY",
    "ETCD_ADVERTISE_CLIENT_URLS",
    "ETCD_CERT_FILE",
    "ETCD_KEY_FILE",
    "ETCD_LISTEN_CLIENT_URLS",
  ]);
});

test.each([
  { tls: { ...sides, minVersion: "TLS1.2" }, is: {} },
  { tls: { ...sides, minVersion: "TLS1.3" }, is: { ETCD_TLS_MIN_VERSION: "TLS1.3" } },
  {
    tls: {
      ...sides,
      cipherSuites: ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"],
    },
    is: { ETCD_CIPHER_SUITES: "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" },
  },
])("TLS options of the spec add variables: $is", ({ tls, is }) => {
  const usual = changedVariables(sides);
  const added = Object.entries(changedVariables(tls)).filter(([name]) => usual[name] === undefined);
  expect(Object.fromEntries(added)).toEqual(is);
});

describe("a pod template that", () => {
  const mounted = (mount: object, beside = {}) => ({
    containers: [{ name: "etcd", volumeMounts: [mount], ...beside }],
  });

  test.each([
    {
      what: "has a volume with the certificates' volume name",
      spec: { volumes: [{ name: "etcd-client-tls", emptyDir: {} }] },
    },
    {
      what: "mounts the certificates in another container",
      spec: mounted({ name: "etcd-peer-tls", mountPath: "/keys" }, { name: "agent", image: "x" }),
    },
    { what: "hides the certificates' mount path", spec: mounted({ name: "settings", mountPath: "/etc" }) },
    {
      what: "sets a variable of etcdctl",
      spec: { containers: [{ name: "etcd", env: [{ name: "ETCDCTL_CERT", value: "x" }] }] },
    },
  ])("$what is ignored completely with certificates, and used without", ({ spec }) => {
    const podTemplate = { metadata: { labels: { team: "shop" } }, spec };
    expect(podOf(sides, { podTemplate }).metadata?.labels).not.toHaveProperty("team");
    expect(podOf(undefined, { podTemplate }).metadata?.labels).toHaveProperty("team");
  });
});
