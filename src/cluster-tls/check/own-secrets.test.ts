import { describe, expect, test } from "vitest";
import { nextTemplate } from "#cluster/update/next-template.ts";
import { templateOf, whyRefused } from "#cluster/update/wanted-template.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { secured, tlsSpec } from "#kit/snapshots/cluster-tls.ts";
import { whyOwnSecrets } from "./own-secrets.ts";

const THEIR_CLIENT = { server: { name: "their-server" }, operator: { name: "their-operator" } };

/** spec.tls names these Secrets as user-provided. */
function naming(secretName: string, secret: object = THEIR_CLIENT) {
  const peer = { provider: "Secret", secret: { name: secretName } };
  return {
    ...cluster().cluster,
    spec: { ...cluster().cluster.spec, tls: tlsSpec({ peer, client: { provider: "Secret", secret } }) },
  };
}

const OWN = [
  "my-etcd-peer-tls",
  "my-etcd-server-tls",
  "my-etcd-operator-tls",
  "my-etcd-client",
  "my-etcd-peer-ca",
  "my-etcd-client-ca",
  "my-etcd-root",
  "my-etcd-peer-tls-0123abcd",
  "my-etcd-client-0123abcd",
];
const OTHERS = [
  "their-peer",
  "other-peer-tls",
  "my-etcd",
  "my-etcd-peer-tls-0123abc",
  "my-etcd-peer-tls-0123abcde",
  "my-etcd-peer-tls-0123abcg",
  "my-etcd-peer-tls0123abcd",
  "x-my-etcd-peer-tls-0123abcd",
  "my-etcd-peer-ca-0123abcd",
  "my-app-binding",
];
const text =
  "this name is reserved for the operator's own Secrets of EtcdCluster my-etcd; copy the Secret to another name";

describe("the name of a user-provided Secret", () => {
  test.each(OWN)("is refused when it is reserved: %s", (name) => {
    expect(whyOwnSecrets(naming(name))).toEqual([`spec.tls.peer.secret.name is ${name}: ${text}`]);
  });

  test.each(OTHERS)("is accepted: %s", (name) => expect(whyOwnSecrets(naming(name))).toEqual([]));

  test("is checked in each field, only for provider Secret", () => {
    const secret = { server: { name: "my-etcd-server-tls" }, operator: { name: "my-etcd-operator-tls" } };
    expect(whyOwnSecrets(naming("their-peer", secret))).toEqual([
      `spec.tls.client.secret.server.name is my-etcd-server-tls: ${text}`,
      `spec.tls.client.secret.operator.name is my-etcd-operator-tls: ${text}`,
    ]);
    const unused = { ...naming("their-peer", secret) };
    const { tls } = unused.spec;
    const client = { ...tls.client, provider: "Operator" as const };
    expect(whyOwnSecrets({ ...unused, spec: { ...unused.spec, tls: { ...tls, client } } })).toEqual([]);
  });

  test("is refused as an invalid spec, and members keep their TLS", () => {
    const settled = secured();
    const given = { ...settled, cluster: { ...settled.cluster, spec: naming("my-etcd-peer-tls").spec } };
    expect(whyRefused(given)).toEqual([`spec.tls.peer.secret.name is my-etcd-peer-tls: ${text}`]);
    for (const peer of given.peers) expect(nextTemplate(given, peer)).toEqual(templateOf(peer));
    expect(whyRefused(settled)).toEqual([]);
  });
});
