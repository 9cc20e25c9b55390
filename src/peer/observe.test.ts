import { expect, test } from "vitest";
import { PAUSED_ANNOTATION } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { OperatorError } from "#base/error.ts";
import type { PersistentVolumeClaim, Pod } from "#kube/kinds.ts";
import { observePeer, type PeerReads } from "#peer/observe.ts";
import { Silences } from "#runtime/silences.ts";
import { cluster, NOW, pod } from "../../test/kit/cluster.ts";
import { peer } from "../../test/kit/peer.ts";

const starting = peer({ stage: "starting" });
const pending = { ...starting.claim, status: { phase: "Pending" } } as PersistentVolumeClaim;

function unscheduled(message: string): Pod {
  const conditions = [{ type: "PodScheduled", status: "False", message }];
  return { ...pod("my-etcd-0", { ready: false }), status: { phase: "Pending", conditions } } as Pod;
}
const volumeless = unscheduled("pod has unbound immediate PersistentVolumeClaims");

interface Given {
  readonly pod: Pod;
  readonly claim: PersistentVolumeClaim;
  readonly wallMs?: number;
  readonly cluster?: EtcdCluster;
}

/** The member with these objects; the API server is asked for storage classes by `list`. */
async function look(given: Given, list: () => Promise<unknown>) {
  const view = (object: unknown) => ({ get: () => object, byIndex: () => (object === undefined ? [] : [object]) });
  let asked = 0;
  const reads = {
    clusters: view(given.cluster),
    peers: view(starting.peer),
    claims: view(given.claim),
    replicaSets: view(starting.replicaSet),
    pods: view(given.pod),
    kube: {
      list: () => {
        asked += 1;
        return list();
      },
    },
    clock: { wallMs: () => given.wallMs ?? NOW },
  } as unknown as PeerReads;
  const seen = await observePeer(
    reads,
    new Silences(reads.clock, "etcd"),
    { namespace: "foo", name: "my-etcd-0" },
    new AbortController().signal,
  );
  if (seen.is !== "present") throw new Error("the member is there");
  return { asked, classes: seen.value.storageClasses, pausedBy: seen.value.pausedBy };
}

const local = () => Promise.resolve({ items: [{ metadata: { name: "local" } }], resourceVersion: "1" });

test("storage classes are asked for when a claim has hindered its pod for long", async () => {
  const { classes } = await look({ pod: volumeless, claim: pending }, local);
  expect(classes).toEqual({ is: "present", value: [{ metadata: { name: "local" } }] });
});

const createdAtMs = Date.parse(volumeless.metadata.creationTimestamp ?? "");
const spared = [
  { name: "a young pod", given: { pod: volumeless, claim: pending, wallMs: createdAtMs + 9_000 } },
  { name: "a pod that has a node", given: { pod: starting.pod!, claim: pending } },
  { name: "a pod for which no node suits", given: { pod: unscheduled("0/3 nodes match"), claim: pending } },
  { name: "a claim that has its volume", given: { pod: volumeless, claim: starting.claim! } },
];
for (const { name, given } of spared) {
  test(`storage classes are not asked for on behalf of ${name}`, async () => {
    expect(await look(given, local)).toMatchObject({ asked: 0, classes: undefined });
  });
}

test("a member is looked at although the storage classes could not be read", async () => {
  const refused = () => Promise.reject(new OperatorError("KubeForbidden", "list storageclasses: forbidden"));
  const { classes } = await look({ pod: volumeless, claim: pending }, refused);
  expect(classes).toEqual({ is: "unknown", why: "list storageclasses: forbidden" });
});

const annotations = { [PAUSED_ANNOTATION]: "true" };
const pauses = [
  { name: "no EtcdCluster", is: undefined },
  { name: "one that nobody has paused", of: cluster(), is: undefined },
  { name: "one that its spec pauses", of: cluster({ spec: { paused: true } }), is: "spec.paused is true" },
  {
    name: "one that the annotation pauses",
    of: cluster({ annotations }),
    is: 'the annotation etcd.improbable.io/paused is "true"',
  },
  {
    name: "one that goes, paused or not",
    of: cluster({ spec: { paused: true }, annotations, deleting: true }),
    is: undefined,
  },
];
for (const { name, of, is } of pauses) {
  test(`whether a member is left alone, with ${name}`, async () => {
    const given = { pod: starting.pod!, claim: pending, ...(of === undefined ? {} : { cluster: of.cluster }) };
    expect((await look(given, local)).pausedBy).toBe(is);
  });
}
