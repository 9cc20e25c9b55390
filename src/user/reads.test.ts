import { expect, test } from "vitest";
import { absent, type Observed, present } from "#base/observed.ts";
import { etcdOf, etcdUser } from "#kit/access.ts";
import { FakeClock } from "#kit/fake-clock.ts";
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

test("an issuer that is broken costs three requests a minute for each user, and few while nobody knows", async () => {
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

test("what has been written is read anew", async () => {
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

test("a Secret that cert-manager has not filled for the user is somebody else's", async () => {
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
