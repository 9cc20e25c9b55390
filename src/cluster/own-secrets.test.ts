import { describe, expect, test } from "vitest";
import { whyOwnSecrets } from "#cluster/own-secrets.ts";
import { nextTemplate, templateOf, whyRefused } from "#cluster/rolling.ts";
import { cluster } from "#kit/cluster.ts";
import { secured, tlsSpec } from "#kit/cluster-tls.ts";

const THEIR_CLIENT = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };

/** People are said to fill these Secrets. */
function naming(secretName: string, secret: object = THEIR_CLIENT) {
  const peer = { provider: "Secret", secret: { secretName } };
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
  "so the operator's own Secrets of EtcdCluster my-etcd are called; it must be another one, which may hold the same";

describe("what people bring", () => {
  test.each(OWN)("is refused in a Secret that is called %s", (name) => {
    expect(whyOwnSecrets(naming(name))).toEqual([`spec.tls.peer.secret.secretName is ${name}: ${text}`]);
  });

  test.each(OTHERS)("may be in one that is called %s", (name) => expect(whyOwnSecrets(naming(name))).toEqual([]));

  test("is asked for in each field, where people bring it", () => {
    const secret = { serverSecretName: "my-etcd-server-tls", operatorClientSecretName: "my-etcd-operator-tls" };
    expect(whyOwnSecrets(naming("their-peer", secret))).toEqual([
      `spec.tls.client.secret.serverSecretName is my-etcd-server-tls: ${text}`,
      `spec.tls.client.secret.operatorClientSecretName is my-etcd-operator-tls: ${text}`,
    ]);
    const unused = { ...naming("their-peer", secret) };
    const { tls } = unused.spec;
    const client = { ...tls.client, provider: "Operator" as const };
    expect(whyOwnSecrets({ ...unused, spec: { ...unused.spec, tls: { ...tls, client } } })).toEqual([]);
  });

  test("members keep what they have, and it is told", () => {
    const settled = secured();
    const given = { ...settled, cluster: { ...settled.cluster, spec: naming("my-etcd-peer-tls").spec } };
    expect(whyRefused(given)).toEqual([`spec.tls.peer.secret.secretName is my-etcd-peer-tls: ${text}`]);
    for (const peer of given.peers) expect(nextTemplate(given, peer)).toEqual(templateOf(peer));
    expect(whyRefused(settled)).toEqual([]);
  });
});
