import { describe, expect, test } from "vitest";
import type { EtcdCluster, EtcdClusterStatus } from "#api/v1beta1/cluster.ts";
import { OWN_PEM } from "#kit/authorities.ts";
import { cluster } from "#kit/cluster.ts";
import { tlsSpec } from "#kit/cluster-tls.ts";
import { peer } from "#kit/peer.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { secretsShownBy, shownSecrets } from "#peer/shown-secrets.ts";

const OPERATOR = { provider: "Operator" } as const;
const NONE = { provider: "None" } as const;
const PEERS = { provider: "Secret", secret: { secretName: "their-peer" } } as const;
const CLIENTS = {
  provider: "Secret",
  secret: { serverSecretName: "their-server", operatorClientSecretName: "their-operator" },
} as const;
const ISSUER = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } as const;

interface Given {
  readonly tls?: object;
  readonly recorded?: readonly string[];
  readonly issuedBy?: object;
}

function asking({ tls, recorded = [], issuedBy }: Given): EtcdCluster {
  const { tls: _, ...bare } = cluster().cluster.spec;
  const live = { ...cluster().cluster, spec: { ...bare, ...(tls === undefined ? {} : { tls: tlsSpec(tls) }) } };
  const certificates = recorded.map((name) => ({ name, notAfter: "2027-01-01T00:00:00Z", issuer: "CN=a" }));
  const status = { ...live.status, certificates, ...(issuedBy && { issuedBy }) } as EtcdClusterStatus;
  return { ...live, status };
}

describe("of what a cluster asks for its members may show", () => {
  const cases: { name: string; given: Given; is: readonly string[] }[] = [
    { name: "nothing without TLS", given: {}, is: [] },
    { name: "nothing where there is to be none", given: { tls: { peer: NONE, client: NONE } }, is: [] },
    {
      name: "what the operator issues, before it is on record",
      given: { tls: { peer: OPERATOR, client: OPERATOR } },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls"],
    },
    {
      name: "what an issuer of cert-manager fills",
      given: { tls: { peer: ISSUER, client: NONE } },
      is: ["my-etcd-peer-tls-a3b319c8"],
    },
    {
      name: "nothing that people bring and that is not on record",
      given: { tls: { peer: PEERS, client: CLIENTS } },
      is: [],
    },
    {
      name: "what they bring and is on record, and not what the operator shows",
      given: {
        tls: { peer: PEERS, client: CLIENTS },
        recorded: ["their-peer", "their-server", "their-operator"],
      },
      is: ["their-peer", "their-server"],
    },
    {
      name: "the Secret that the operator shows, too",
      given: {
        tls: {
          peer: NONE,
          client: { provider: "Secret", secret: { serverSecretName: "one", operatorClientSecretName: "one" } },
        },
        recorded: ["one"],
      },
      is: ["one"],
    },
    {
      name: "the Secret that the operator shows, and members to each other",
      given: {
        tls: { peer: { provider: "Secret", secret: { secretName: "their-operator" } }, client: CLIENTS },
        recorded: ["their-server", "their-operator"],
      },
      is: ["their-server", "their-operator"],
    },
    {
      name: "the Secret that the operator shows as long as members show another one",
      given: {
        tls: {
          peer: NONE,
          client: {
            provider: "Secret",
            secret: { serverSecretName: "their-operator", operatorClientSecretName: "new" },
          },
        },
        recorded: ["their-server", "their-operator", "new"],
        issuedBy: { client: CLIENTS },
      },
      is: ["their-server", "their-operator"],
    },
    {
      name: "what some show besides, which was asked for in between",
      given: {
        tls: { peer: PEERS, client: NONE },
        recorded: ["in-between", "my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
      },
      is: ["in-between", "my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
    },
    {
      name: "nothing that is for others alone",
      given: {
        tls: { peer: OPERATOR, client: NONE },
        recorded: ["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-operator-tls", "my-etcd-client", "my-etcd-root"],
      },
      is: ["my-etcd-peer-tls"],
    },
    {
      name: "nothing that is for the operator alone, now or as it is in use",
      given: {
        tls: { peer: OPERATOR, client: ISSUER },
        recorded: ["my-etcd-operator-tls-a3b319c8", "their-operator"],
        issuedBy: { client: CLIENTS },
      },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
    },
    {
      name: "what is in use beside what is asked for",
      given: {
        tls: { peer: OPERATOR, client: ISSUER },
        recorded: ["their-peer"],
        issuedBy: { peer: PEERS, client: OPERATOR },
      },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8", "my-etcd-server-tls", "their-peer"],
    },
    {
      name: "what is in use where spec.tls was taken away",
      given: { issuedBy: { peer: OPERATOR } },
      is: ["my-etcd-peer-tls"],
    },
    {
      name: "nothing that is in use by a status that does not know it",
      given: { tls: { peer: OPERATOR, client: NONE }, issuedBy: { peer: PEERS } },
      is: ["my-etcd-peer-tls"],
    },
  ];
  test.each(cases)("$name", ({ given, is }) => {
    expect(shownSecrets(asking(given))).toEqual(is);
  });

  test("nothing before it has a status that could be asked", () => {
    const { status: _, ...bare } = asking({ tls: { peer: PEERS, client: OPERATOR } });
    expect(shownSecrets(bare)).toEqual(["my-etcd-server-tls"]);
  });
});

test("what a pod shows is read off its volumes for certificates, and off no other", () => {
  const sides = {
    peer: { secretName: "a", trust: OWN_PEM },
    client: { secretName: "b", trust: OWN_PEM },
  };
  const beside = { name: "more", projected: { sources: [{ secret: { name: "c" } }] } };
  const template = replicaSet(peer({ spec: { tls: sides } })).spec?.template;
  const volumes = [...(template?.spec?.volumes ?? []), beside];
  expect(secretsShownBy({ spec: { volumes } })).toEqual(["a", "b"]);
  expect(secretsShownBy({ spec: { volumes: [{ name: "etcd-peer-tls" }, beside] } })).toEqual([]);
  expect(secretsShownBy(replicaSet(peer()).spec?.template ?? {})).toEqual([]);
  expect(secretsShownBy({})).toEqual([]);
});
