import { describe, expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import { peer } from "#kit/snapshots/peer.ts";
import { issuedBy } from "#kit/snapshots/tls-status.ts";
import { OWN_PEM } from "#kit/tables/authorities.ts";
import { replicaSet } from "#peer/desired/replica-set.ts";
import { secretsShownBy, shownSecrets } from "#peer/shown-secrets.ts";

const OPERATOR = { provider: "Operator" } as const;
const NONE = { provider: "None" } as const;
const PEERS = { provider: "Secret", secret: { name: "their-peer" } } as const;
const CLIENTS = {
  provider: "Secret",
  secret: { server: { name: "their-server" }, operator: { name: "their-operator" } },
} as const;
const ISSUER = { provider: "CertManager", certManager: { issuerRef: { name: "a" } } } as const;

interface Given {
  readonly tls?: object;
  readonly recorded?: readonly string[];
  readonly sources?: object;
}

function asking({ tls, recorded = [], sources = {} }: Given): EtcdCluster {
  const { tls: _, ...bare } = cluster().cluster.spec;
  const live = { ...cluster().cluster, spec: { ...bare, ...(tls === undefined ? {} : { tls: tlsSpec(tls) }) } };
  const certificates = recorded.map((name) => ({ name, notAfter: "2027-01-01T00:00:00Z", issuer: "CN=a" }));
  const status = issuedBy({ ...live.status, tls: { certificates } }, sources);
  return { ...live, status };
}

describe("members of a cluster may mount", () => {
  const cases: { name: string; given: Given; is: readonly string[] }[] = [
    { name: "no Secret without TLS", given: {}, is: [] },
    { name: "no Secret with provider None", given: { tls: { peer: NONE, client: NONE } }, is: [] },
    {
      name: "Secrets that the operator issues, before the status lists them",
      given: { tls: { peer: OPERATOR, client: OPERATOR } },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls"],
    },
    {
      name: "a Secret that cert-manager fills",
      given: { tls: { peer: ISSUER, client: NONE } },
      is: ["my-etcd-peer-tls-a3b319c8"],
    },
    {
      name: "no user-provided Secret before the status lists it",
      given: { tls: { peer: PEERS, client: CLIENTS } },
      is: [],
    },
    {
      name: "user-provided Secrets that the status lists, except the operator's client Secret",
      given: {
        tls: { peer: PEERS, client: CLIENTS },
        recorded: ["their-peer", "their-server", "their-operator"],
      },
      is: ["their-peer", "their-server"],
    },
    {
      name: "a server Secret that is also the operator's client Secret",
      given: {
        tls: {
          peer: NONE,
          client: { provider: "Secret", secret: { server: { name: "one" }, operator: { name: "one" } } },
        },
        recorded: ["one"],
      },
      is: ["one"],
    },
    {
      name: "a peer Secret that is also the operator's client Secret",
      given: {
        tls: { peer: { provider: "Secret", secret: { name: "their-operator" } }, client: CLIENTS },
        recorded: ["their-server", "their-operator"],
      },
      is: ["their-server", "their-operator"],
    },
    {
      name: "the server Secrets of the spec and in use, although one is also the operator's client Secret",
      given: {
        tls: {
          peer: NONE,
          client: {
            provider: "Secret",
            secret: { server: { name: "their-operator" }, operator: { name: "new" } },
          },
        },
        recorded: ["their-server", "their-operator", "new"],
        sources: { client: CLIENTS },
      },
      is: ["their-server", "their-operator"],
    },
    {
      name: "Secrets that the status lists from an earlier spec",
      given: {
        tls: { peer: PEERS, client: NONE },
        recorded: ["in-between", "my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
      },
      is: ["in-between", "my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
    },
    {
      name: "no Secret that only other components use",
      given: {
        tls: { peer: OPERATOR, client: NONE },
        recorded: ["my-etcd-peer-ca", "my-etcd-client-ca", "my-etcd-operator-tls", "my-etcd-client", "my-etcd-root"],
      },
      is: ["my-etcd-peer-tls"],
    },
    {
      name: "no client Secret of the operator, requested or in use",
      given: {
        tls: { peer: OPERATOR, client: ISSUER },
        recorded: ["my-etcd-operator-tls-a3b319c8", "their-operator"],
        sources: { client: CLIENTS },
      },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8"],
    },
    {
      name: "Secrets in use and Secrets of the spec",
      given: {
        tls: { peer: OPERATOR, client: ISSUER },
        recorded: ["their-peer"],
        sources: { peer: PEERS, client: OPERATOR },
      },
      is: ["my-etcd-peer-tls", "my-etcd-server-tls-a3b319c8", "my-etcd-server-tls", "their-peer"],
    },
    {
      name: "Secrets in use after spec.tls was removed",
      given: { sources: { peer: OPERATOR } },
      is: ["my-etcd-peer-tls"],
    },
    {
      name: "no Secret in use that the status does not list",
      given: { tls: { peer: OPERATOR, client: NONE }, sources: { peer: PEERS } },
      is: ["my-etcd-peer-tls"],
    },
  ];
  test.each(cases)("$name", ({ given, is }) => {
    expect(shownSecrets(asking(given))).toEqual(is);
  });

  test("only the operator's Secrets when there is no status", () => {
    const { status: _, ...bare } = asking({ tls: { peer: PEERS, client: OPERATOR } });
    expect(shownSecrets(bare)).toEqual(["my-etcd-server-tls"]);
  });
});

test("the Secrets that a pod mounts are read from its certificate volumes", () => {
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
