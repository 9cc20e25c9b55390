import { expect, test } from "vitest";
import { absent, type Observed, present } from "#base/observed.ts";
import { etcdOf, etcdUser } from "#kit/snapshots/access.ts";
import { authority, dataOf, leaf, secretOf } from "#kit/snapshots/certificates.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";
import { BindingReads } from "#user/reads.ts";

const { signal } = new AbortController();
const MANAGED = etcdOf({ client: { provider: "CertManager", certManager: { issuerRef: { name: "broken" } } } });

function world(objects: Record<string, object> = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const find = (_: Resource<KubeObject>, { name }: Ref): Promise<Observed<never>> => {
    asked.push(name);
    return Promise.resolve(name in objects ? present(objects[name] as never) : absent);
  };
  const reads = new BindingReads({ find } as never, clock);
  return { clock, asked, reads, look: async (cluster = MANAGED) => await reads.look(etcdUser(), cluster, signal) };
}

function filled(annotations: Record<string, string>): object {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "app-binding-tls", uid: "u", annotations }, data: {} };
}

test("a broken issuer costs at most 36 requests per user in the first minute, and 3 per minute after ten", async () => {
  const { clock, asked, look } = world();
  const inTheNext = async (seconds: number) => {
    asked.length = 0;
    for (let second = 0; second < seconds; second += 5) {
      await clock.advance(5_000);
      await look();
    }
    return asked.length;
  };
  expect(await inTheNext(60)).toBeLessThanOrEqual(3 * 12);
  await inTheNext(10 * 60);
  expect(await inTheNext(60)).toBe(3);
});

const owned = (name: string, uid: string) => ({
  ...filled({}),
  metadata: { name, uid: "u", ownerReferences: [{ controller: true, uid }] },
});

test("the deletion of another owner's Secret is observed within seconds, or a minute for an old Secret", async () => {
  for (const [minutes, withinMs] of [[0, 4_000], [1, 10_000], [60, 65_000]] as const) {
    const objects: Record<string, object> = { "app-binding": owned("app-binding", "other") };
    const { clock, look } = world(objects);
    for (let at = 0; at < minutes * 60_000; at += 5_000) {
      expect((await look()).binding.is).toBe("present");
      await clock.advance(5_000);
    }
    expect((await look()).binding.is).toBe("present");
    delete objects["app-binding"];
    await clock.advance(withinMs);
    expect((await look()).binding.is).toBe("absent");
  }
}); // biome-ignore format: a table

test("an EtcdUser's own Secret is read at most once in four minutes", async () => {
  const { clock, asked, look } = world({ "app-binding": owned("app-binding", etcdUser().metadata.uid) });
  for (let second = 0; second < 230; second += 5) {
    await look(etcdOf(null));
    await clock.advance(5_000);
  }
  expect(asked).toEqual(["app-binding"]);
});

test("cached results for deleted clusters and users are dropped", async () => {
  const { clock, reads } = world();
  for (let n = 0; n < 50; n++) {
    const [user, cluster] = [etcdUser({ name: `u${n}` }), etcdOf()];
    await reads.look(user, { ...cluster, metadata: { ...cluster.metadata, name: `c${n}` } }, signal);
    reads.forget(user.metadata);
  }
  expect(reads.size).toBe(50);
  await clock.advance(60 * 60_000);
  await reads.look(etcdUser(), etcdOf(), signal);
  expect(reads.size).toBe(2);
});

test("a Secret is read again after the operator has written it", async () => {
  const { clock, asked, look, reads } = world();
  for (let minute = 0; minute < 10; minute++) {
    await clock.advance(60_000);
    await look();
  }
  asked.length = 0;
  reads.forget({ namespace: "foo", name: "app" });
  await look();
  expect(asked.sort()).toEqual(["app-binding", "app-binding-tls", "app-binding-tls"]);
});

test.each([
  ["again after two seconds when its certificate has another common name", "shop", "True", 1],
  ["again after two seconds while the Certificate is not Ready", "", "False", 1],
  ["not again after two seconds when it is issued for the user", "", "True", 0],
])("cert-manager's Secret is read %s", async (_, commonName, status, times) => {
  const by = await authority();
  const metadata = {
    annotations: { "cert-manager.io/certificate-name": "app-binding-tls" },
    ownerReferences: [{ controller: true, uid: etcdUser().metadata.uid }],
  };
  const secret = secretOf(
    "app-binding-tls",
    dataOf(await leaf(by, { ...(commonName === "" ? {} : { commonName }), names: [] }), by.certificate),
    metadata,
  );
  // The Certificate and its Secret have the same name.
  const both = { ...secret, status: { conditions: [{ type: "Ready", status }] } };
  const { clock, asked, look } = world({ "app-binding-tls": both });
  expect((await look()).signer).toMatchObject({ is: "present", value: { commonName, trouble: undefined } });
  asked.length = 0;
  await clock.advance(2_000);
  await look();
  expect(asked.filter((name) => name === "app-binding-tls").length).toBe(times);
});

test("a Secret without cert-manager's annotation for the user counts as taken", async () => {
  const name = "cert-manager.io/certificate-name";
  const seen = async (annotations: Record<string, string>, cluster = MANAGED) => {
    const { isIssuedTaken, signer } = await world({ "app-binding-tls": filled(annotations) }).look(cluster);
    return [isIssuedTaken, signer.is];
  };
  expect(await seen({})).toEqual([true, "absent"]);
  expect(await seen({ [name]: "another" })).toEqual([true, "absent"]);
  expect(await seen({ [name]: "app-binding-tls" })).toEqual([false, "present"]);
  expect((await seen({}, etcdOf()))[0]).toBe(false);
  expect((await world().look()).isIssuedTaken).toBe(false);
});
