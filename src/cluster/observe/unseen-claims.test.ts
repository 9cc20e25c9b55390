import { expect, test } from "vitest";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { claim, cluster, withArrival, withoutMember } from "#kit/snapshots/cluster.ts";
import { asleep } from "#kit/snapshots/cluster-sleep.ts";
import { withoutList } from "#kit/snapshots/cluster-steps.ts";
import type { KubeClient } from "#kube/client.ts";
import type { PersistentVolumeClaim, Ref } from "#kube/kinds.ts";
import { findUnseenClaims } from "./unseen-claims.ts";

const wanted5 = cluster({ spec: { replicas: 5 } });
const NEVER = new AbortController().signal;

/** @param names claims in the API server @returns the claims found, and the requested names */
async function foundIn(given: ClusterSnapshot, names: readonly string[], isSilent = false) {
  const asked: string[] = [];
  const find = (_: unknown, { name }: Ref): Promise<Observed<PersistentVolumeClaim>> => {
    asked.push(name);
    if (isSilent) return Promise.resolve(unknown("no answer"));
    return Promise.resolve(names.includes(name) ? present(claim(name)) : absent);
  };
  const found = await findUnseenClaims({ find } as unknown as Pick<KubeClient, "find">, given, NEVER);
  return { asked, found: found.is === "present" ? found.value.map(({ metadata }) => metadata.name) : found };
}

test("unseen claims: the API server is asked for claims until a name is free", async () => {
  expect(await foundIn(wanted5, [])).toEqual({ asked: ["my-etcd-3"], found: [] });
  expect(await foundIn(wanted5, ["my-etcd-3", "my-etcd-4"])).toEqual({
    asked: ["my-etcd-3", "my-etcd-4", "my-etcd-5"],
    found: ["my-etcd-3", "my-etcd-4"],
  });
});

test("unseen claims: no further name is tried after a claim that is being deleted", async () => {
  const given = claim("my-etcd-3");
  const deletionTimestamp = new Date(wanted5.takenAtMs - 1_000).toISOString();
  const dying = { ...given, metadata: { ...given.metadata, deletionTimestamp } };
  const known = { ...wanted5, claims: [...wanted5.claims, dying] };
  expect(await foundIn(known, ["my-etcd-3"])).toEqual({ asked: [], found: [] });
  const asked: string[] = [];
  const find = (_: unknown, { name }: Ref): Promise<Observed<PersistentVolumeClaim>> => {
    asked.push(name);
    return Promise.resolve(present(dying));
  };
  const found = await findUnseenClaims({ find } as unknown as Pick<KubeClient, "find">, wanted5, NEVER);
  expect({ asked, found }).toEqual({ asked: ["my-etcd-3"], found: present([dying]) });
});

test("unseen claims: with an intent, only the claim of its name is read", async () => {
  const intended = withArrival(wanted5, "my-etcd-3", "intended");
  expect(await foundIn(intended, ["my-etcd-3"])).toEqual({ asked: ["my-etcd-3"], found: ["my-etcd-3"] });
  expect(await foundIn(intended, [])).toEqual({ asked: ["my-etcd-3"], found: [] });
});

test("unseen claims: after ten taken names the result is unknown", async () => {
  const names = Array.from({ length: 12 }, (_, n) => `my-etcd-${n + 3}`);
  const { asked, found } = await foundIn(wanted5, names);
  expect(asked).toEqual(names.slice(0, 10));
  expect(found).toMatchObject({ is: "unknown", why: expect.stringContaining("my-etcd-12; delete those") });
});

test("unseen claims: the result is unknown when the API server does not answer", async () => {
  expect((await foundIn(wanted5, [], true)).found).toEqual({
    is: "unknown",
    why: "it is not known whether claim my-etcd-3 exists: no answer",
  });
});

test.each([
  ["there are as many members as spec.replicas", cluster()],
  ["a member is joining", withArrival(wanted5, "my-etcd-3", "added")],
  ["there is no member list", withoutList(wanted5)],
  ["the cluster forms", cluster({ stage: "starting" })],
  ["the cluster sleeps", asleep()],
])("unseen claims: nothing is read while %s", async (_, given) => {
  expect(await foundIn(given, ["my-etcd-3"])).toEqual({ asked: [], found: [] });
});

test("unseen claims: a name is tried when a member was removed and has to be replaced", async () => {
  expect((await foundIn(withoutMember(cluster(), "my-etcd-1"), [])).asked).toEqual(["my-etcd-3"]);
});
