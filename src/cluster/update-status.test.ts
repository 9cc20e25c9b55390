import { expect, test } from "vitest";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import { wantedRevision } from "#cluster/rolling.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isUpdating, updateStatus, waitingForDeletion } from "#cluster/update-status.ts";
import { cluster } from "#kit/cluster.ts";
import {
  madeFrom,
  NEWER,
  OLD,
  ON_DELETE,
  refusing,
  wanting,
  withCanary,
  withoutPod,
  withPod,
  withStop,
  withTurn,
  withUpdate,
  withUpdated,
} from "#kit/cluster-rolling.ts";
import { withResources } from "#kit/pod-template.ts";

const settled = cluster();
const wanted = wanting(NEWER);
const all = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const notReady = { status: { conditions: [{ type: "Ready", status: "False" }] } };
const STOPPED = { member: "my-etcd-2", message: "it ended" };

const cases: { name: string; given: ClusterSnapshot; is: Partial<UpdateStatus> | undefined }[] = [
  { name: "all run what is wanted", given: settled, is: undefined },
  {
    name: "it was just wanted",
    given: wanted,
    is: {
      revision: wantedRevision(wanted),
      from: "3.6.16",
      to: "3.6.17",
      updated: [],
      proven: false,
      since: "2026-01-01T12:00:00Z",
    },
  },
  {
    name: "it was seen before",
    given: withUpdate(wanted, { since: "2026-01-01T11:30:00Z", from: "3.6.15" }),
    is: { from: "3.6.15", since: "2026-01-01T11:30:00Z" },
  },
  {
    name: "another one was seen before",
    given: withUpdate(wanted, { revision: "0123456789abcdef", since: "2026-01-01T11:30:00Z", from: "3.6.15" }),
    is: { revision: wantedRevision(wanted), from: "3.6.16", since: "2026-01-01T12:00:00Z" },
  },
  {
    name: "the spec is refused while somebody is tried with it",
    given: refusing(withCanary(wanted, "my-etcd-2")),
    is: { revision: wantedRevision(wanted), to: "3.6.17", since: "2026-01-01T11:30:00Z" },
  },
  { name: "the spec is refused before anybody has got it", given: refusing(withUpdate(wanted)), is: undefined },
  { name: "a member has its turn", given: withTurn(wanted, "my-etcd-2"), is: { updated: [] } },
  {
    name: "a member has restarted",
    given: withCanary(wanted, "my-etcd-2"),
    is: { updated: [], waitingFor: "my-etcd-2" },
  },
  {
    name: "a member is well with it",
    given: withUpdated(wanted, "my-etcd-2"),
    is: { updated: ["my-etcd-2"], proven: true },
  },
  {
    name: "a member has been well with it, and is not any more",
    given: withUpdate(withCanary(wanted, "my-etcd-2"), { proven: true }),
    is: { updated: [], proven: true },
  },
  {
    name: "a member has been well with another one",
    given: withUpdate(wanted, { revision: "0123456789abcdef", proven: true }),
    is: { updated: [], proven: false },
  },
  {
    name: "people restart members",
    given: withTurn(withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2"), "my-etcd-0"),
    is: { updated: [], waitingForDeletion: ["my-etcd-0", "my-etcd-2"] },
  },
  {
    name: "all EtcdPeers say it, and one pod is from before",
    given: madeFrom(withUpdated(wanted, ...all), "my-etcd-0", OLD),
    is: { updated: ["my-etcd-1", "my-etcd-2"] },
  },
  {
    name: "the last one has restarted, and is not ready yet",
    given: withPod(withUpdated(withUpdate(wanted), ...all), "my-etcd-0", notReady),
    is: { updated: ["my-etcd-1", "my-etcd-2"], waitingFor: "my-etcd-0" },
  },
  { name: "all are done", given: withUpdated(withUpdate(wanted), ...all), is: undefined },
  { name: "somebody is not ready long after", given: withPod(settled, "my-etcd-0", notReady), is: undefined },
  { name: "somebody has no pod long after", given: withoutPod(settled, "my-etcd-0"), is: undefined },
  {
    name: "pods of an earlier release do not say what they were made from",
    given: all.reduce((given, name) => madeFrom(given, name, undefined), settled),
    is: undefined,
  },
  { name: "it is being formed", given: cluster({ stage: "starting", spec: NEWER }), is: undefined },
  {
    name: "it was stopped",
    given: withStop(wanted, "my-etcd-2"),
    is: { to: "3.6.17", updated: [], stopped: STOPPED, since: "2026-01-01T11:30:00Z" },
  },
  {
    name: "it was stopped, and one came up with it after all",
    given: withUpdated(withStop(wanted, "my-etcd-2"), "my-etcd-2"),
    is: { updated: ["my-etcd-2"], stopped: STOPPED },
  },
  {
    name: "it was stopped, and all came up with it after all",
    given: withUpdated(withStop(wanted, "my-etcd-2"), ...all),
    is: undefined,
  },
  {
    name: "it was stopped, and the old is wanted again",
    given: withUpdate(settled, { revision: wantedRevision(wanted), stopped: STOPPED }),
    is: undefined,
  },
  {
    name: "there is no way to the version that is wanted",
    given: cluster({ spec: { version: "3.4.1" } }),
    is: undefined,
  },
  {
    name: "there is no way to the version that is wanted, and the pods are to be others",
    given: cluster({ spec: { version: "3.4.1", podTemplate: withResources({ limits: { cpu: "1" } }) } }),
    is: { from: "3.6.16", to: "3.6.16" },
  },
  {
    name: "members are to go back, and etcd has yet to be asked",
    given: cluster({ spec: { version: "3.5.35" } }),
    is: { from: "3.6.16", to: "3.5.35", updated: [], proven: false },
  },
  {
    name: "the way back was stopped, and the first one has been put back",
    given: withStop(cluster({ spec: { version: "3.5.35" } }), "my-etcd-2"),
    is: { to: "3.5.35", updated: [], stopped: STOPPED },
  },
  {
    name: "members are to go back with what none of them could run",
    given: cluster({ spec: { version: "3.5.35", etcd: { extraArgs: { "max-txn-op": "1" } } } }),
    is: undefined,
  },
];

for (const { name, given, is } of cases) {
  test(`update status: when ${name}, ${is === undefined ? "there is none" : "it says so"}`, () => {
    const status = updateStatus(given);
    if (is === undefined) expect(status).toBeUndefined();
    else expect(status).toMatchObject(is);
  });
}

test("update status: what is not so does not stand in it", () => {
  expect(updateStatus(wanted)).not.toHaveProperty("waitingFor");
  expect(updateStatus(wanted)).not.toHaveProperty("stopped");
  expect(updateStatus(withTurn(wanted, "my-etcd-2"))).not.toHaveProperty("waitingForDeletion");
});

test("update status: a stop is forgotten when something else is wanted", () => {
  const { update } = withStop(wanted, "my-etcd-2").cluster.status!;
  const other = withUpdate(wanting({ ...OLD, version: "3.6.18" }), update);
  const status = updateStatus(other);
  expect(status).toMatchObject({ to: "3.6.18", since: "2026-01-01T12:00:00Z" });
  expect(status).not.toHaveProperty("stopped");
});

const updating: { name: string; given: ClusterSnapshot; is: boolean }[] = [
  { name: "nothing else is wanted", given: settled, is: false },
  { name: "something else is wanted", given: wanted, is: true },
  { name: "an EtcdPeer says it, and the pod is from before", given: withTurn(settled, "my-etcd-1", NEWER), is: true },
  { name: "it was stopped", given: withStop(wanted, "my-etcd-2"), is: false },
  {
    name: "it was stopped on the way back by a minor",
    given: withStop(cluster({ spec: { version: "3.5.35" } }), "my-etcd-2"),
    is: false,
  },
  {
    name: "who is put back has yet to restart",
    given: withStop(madeFrom(wanted, "my-etcd-2", NEWER), "my-etcd-2"),
    is: true,
  },
  { name: "the cluster is being formed", given: cluster({ stage: "starting", spec: NEWER }), is: false },
  { name: "a pod does not say what it was made from", given: madeFrom(settled, "my-etcd-1", undefined), is: false },
];

for (const { name, given, is } of updating)
  test(`updating: when ${name}, ${is ? "members are" : "nobody is"}`, () => expect(isUpdating(given)).toBe(is));

test("nobody waits for people while the cluster forms", () => {
  const turned = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2");
  expect(waitingForDeletion(turned)).toEqual(["my-etcd-2"]);
  const forming = cluster({ stage: "starting", spec: { ...NEWER, ...ON_DELETE } }).cluster;
  expect(waitingForDeletion({ ...turned, cluster: forming })).toEqual([]);
});
