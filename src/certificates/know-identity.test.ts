import { expect, test } from "vitest";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { Keyring } from "#certificates/keyring.ts";
import { knowIdentity } from "#certificates/know-identity.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { overTls } from "#kit/snapshots/etcd-backup.ts";
import type { Ref, Secret } from "#kube/kinds.ts";

const { signal } = new AbortController();
const KEY = { namespace: "foo", name: "my-etcd" };
const issuer = await authority();
const data = dataOf(await leaf(issuer), issuer.certificate);
const GOOD = secretOf("my-etcd-operator-tls", data);

/** @returns names of the Secrets that were read, and the keyring afterwards */
async function known(given = overTls(), found: Observed<Secret> = present(GOOD), keyring = new Keyring()) {
  const asked: string[] = [];
  const find = (_: unknown, { namespace, name }: Ref) => {
    asked.push(`${namespace}/${name}`);
    return Promise.resolve(found);
  };
  await knowIdentity({ find } as never, keyring, given, signal);
  return { asked, keyring };
}

test("a client certificate that is not in the keyring is read by its name, once", async () => {
  const { asked, keyring } = await known();
  expect(asked).toEqual(["foo/my-etcd-operator-tls"]);
  expect(keyring.identityOf(KEY)).toMatchObject({ secretName: "my-etcd-operator-tls", cert: data["tls.crt"] });
  expect((await known(overTls(), present(GOOD), keyring)).asked).toEqual([]);
});

test("a user-provided Secret is read by its name and used only with its label", async () => {
  const secret = { server: { name: "theirs" }, operator: { name: "mine" } };
  const brought = overTls({ client: { provider: "Secret", secret } });
  const withheld = await known(brought, present(secretOf("mine", data)));
  expect(withheld.asked).toEqual(["foo/mine"]);
  expect(withheld.keyring.identityOf(KEY)).toBeUndefined();
  const labels = { "etcd.improbable.io/tls": "true" };
  const given = await known(brought, present(secretOf("mine", data, { labels })));
  expect(given.keyring.identityOf(KEY)?.secretName).toBe("mine");
});

test("nothing is read without client TLS", async () => {
  expect((await known(cluster().cluster)).asked).toEqual([]);
  expect((await known(overTls({ client: { provider: "None" } }))).asked).toEqual([]);
});

test.each([
  ["does not exist", absent],
  ["could not be read", unknown("no answer")],
  ["lacks tls.key", present(secretOf("my-etcd-operator-tls", { ...data, "tls.key": "" }))],
  ["has a key that does not match", present(secretOf("a", { ...data, "tls.key": issuer.key }))],
])("a Secret that %s is not used", async (_, found) => {
  expect((await known(overTls(), found)).keyring.identityOf(KEY)).toBeUndefined();
});
