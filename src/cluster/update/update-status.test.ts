import { expect, test } from "vitest";
import type { UpdateStatus } from "#api/v1beta1/cluster.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { withDyingPeer } from "#kit/snapshots/cluster-changes.ts";
import {
  madeFrom,
  NEWER,
  NOT_READY,
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
} from "#kit/snapshots/cluster-rolling.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { isUpdating, updateStatus, waitingForDeletion } from "./update-status.ts";
import { wantedRevision } from "./wanted-template.ts";

const settled = cluster();
const wanted = wanting(NEWER);
const all = ["my-etcd-0", "my-etcd-1", "my-etcd-2"];
const STOPPED = { member: "my-etcd-2", message: "it ended" };

const cases: { name: string; given: ClusterSnapshot; is: Partial<UpdateStatus> | undefined }[] = [
  { name: "all members run the wanted template", given: settled, is: undefined },
  {
    name: "the update has just begun",
    given: wanted,
    is: {
      revision: wantedRevision(wanted),
      from: "3.6.16",
      to: "3.6.17",
      updated: [],
      proven: false,
      startTime: "2026-01-01T12:00:00Z",
    },
  },
  {
    name: "the update is recorded already, and keeps its start and first release",
    given: withUpdate(wanted, { startTime: "2026-01-01T11:30:00Z", from: "3.6.15" }),
    is: { from: "3.6.15", startTime: "2026-01-01T11:30:00Z" },
  },
  {
    name: "another update is recorded, and the new one replaces it",
    given: withUpdate(wanted, { revision: "0123456789abcdef", startTime: "2026-01-01T11:30:00Z", from: "3.6.15" }),
    is: { revision: wantedRevision(wanted), from: "3.6.16", startTime: "2026-01-01T12:00:00Z" },
  },
  {
    name: "the spec is refused while a member has the template",
    given: begin(wanted).apply(withCanary, "my-etcd-2").apply(refusing).snapshot,
    is: { revision: wantedRevision(wanted), to: "3.6.17", startTime: "2026-01-01T11:30:00Z" },
  },
  {
    name: "the spec is refused before a member has the template",
    given: begin(wanted).apply(withUpdate).apply(refusing).snapshot,
    is: undefined,
  },
  { name: "a restart is pending", given: withTurn(wanted, "my-etcd-2"), is: { updated: [] } },
  {
    name: "a member has restarted",
    given: withCanary(wanted, "my-etcd-2"),
    is: { updated: [], waitingFor: "my-etcd-2" },
  },
  {
    name: "a member is fit with the wanted template",
    given: withUpdated(wanted, "my-etcd-2"),
    is: { updated: ["my-etcd-2"], proven: true },
  },
  {
    name: "a member was fit with the wanted template and is unfit now",
    given: begin(wanted).apply(withCanary, "my-etcd-2").apply(withUpdate, { proven: true }).snapshot,
    is: { updated: [], proven: true },
  },
  {
    name: "a member was fit with another update",
    given: withUpdate(wanted, { revision: "0123456789abcdef", proven: true }),
    is: { updated: [], proven: false },
  },
  {
    name: "members wait with OnDelete until a person deletes their pods",
    given: begin(wanting(NEWER, { spec: ON_DELETE }))
      .apply(withTurn, "my-etcd-2")
      .apply(withTurn, "my-etcd-0").snapshot,
    is: { updated: [], waitingForDeletion: ["my-etcd-0", "my-etcd-2"] },
  },
  {
    name: "all EtcdPeers have the wanted template, and one pod has the old one",
    given: begin(wanted)
      .apply(withUpdated, ...all)
      .apply(madeFrom, "my-etcd-0", OLD).snapshot,
    is: { updated: ["my-etcd-1", "my-etcd-2"] },
  },
  {
    name: "the last member has restarted, and its pod is not Ready yet",
    given: begin(wanted)
      .apply(withUpdate)
      .apply(withUpdated, ...all)
      .apply(withPod, "my-etcd-0", NOT_READY).snapshot,
    is: { updated: ["my-etcd-1", "my-etcd-2"], waitingFor: "my-etcd-0" },
  },
  {
    name: "all members are updated",
    given: begin(wanted)
      .apply(withUpdate)
      .apply(withUpdated, ...all).snapshot,
    is: undefined,
  },
  {
    name: "no update is recorded and a pod is not Ready",
    given: withPod(settled, "my-etcd-0", NOT_READY),
    is: undefined,
  },
  { name: "no update is recorded and a member has no pod", given: withoutPod(settled, "my-etcd-0"), is: undefined },
  {
    name: "pods have lost their revision",
    given: all.reduce((given, name) => madeFrom(given, name, undefined), settled),
    is: undefined,
  },
  { name: "the cluster is being formed", given: cluster({ stage: "starting", spec: NEWER }), is: undefined },
  {
    name: "the update was stopped",
    given: withStop(wanted, "my-etcd-2"),
    is: { to: "3.6.17", updated: [], stopped: STOPPED, startTime: "2026-01-01T11:30:00Z" },
  },
  {
    name: "the update was stopped, and one member is fit with the wanted template later",
    given: begin(wanted).apply(withStop, "my-etcd-2").apply(withUpdated, "my-etcd-2").snapshot,
    is: { updated: ["my-etcd-2"], stopped: STOPPED },
  },
  {
    name: "the update was stopped, and all members are fit with the wanted template later",
    given: begin(wanted)
      .apply(withStop, "my-etcd-2")
      .apply(withUpdated, ...all).snapshot,
    is: undefined,
  },
  {
    name: "the update was stopped, and the spec asks for the old template again",
    given: withUpdate(settled, { revision: wantedRevision(wanted), stopped: STOPPED }),
    is: undefined,
  },
  {
    name: "spec.version cannot be reached from the running release",
    given: cluster({ spec: { version: "3.4.1" } }),
    is: undefined,
  },
  {
    name: "spec.version cannot be reached, and the pod template changes",
    given: cluster({ spec: { version: "3.4.1", podTemplate: withResources({ limits: { cpu: "1" } }) } }),
    is: { from: "3.6.16", to: "3.6.16" },
  },
  {
    name: "the downgrade is not enabled yet",
    given: cluster({ spec: { version: "3.5.35" } }),
    is: { from: "3.6.16", to: "3.5.35", updated: [], proven: false },
  },
  {
    name: "a downgrade was stopped, and the canary rolled back",
    given: withStop(cluster({ spec: { version: "3.5.35" } }), "my-etcd-2"),
    is: { to: "3.5.35", updated: [], stopped: STOPPED },
  },
  {
    name: "a downgrade has an invalid spec",
    given: cluster({ spec: { version: "3.5.35", etcd: { extraArgs: { "max-txn-op": "1" } } } }),
    is: undefined,
  },
];

for (const { name, given, is } of cases) {
  test(`status.update is ${is === undefined ? "absent" : "present"} when ${name}`, () => {
    const status = updateStatus(given);
    if (is === undefined) expect(status).toBeUndefined();
    else expect(status).toMatchObject(is);
  });
}

test("status.update has no fields waitingFor, stopped and waitingForDeletion when they do not apply", () => {
  expect(updateStatus(wanted)).not.toHaveProperty("waitingFor");
  expect(updateStatus(wanted)).not.toHaveProperty("stopped");
  expect(updateStatus(withTurn(wanted, "my-etcd-2"))).not.toHaveProperty("waitingForDeletion");
});

test("status.update drops the stop of an update when the spec asks for something else", () => {
  const { update } = withStop(wanted, "my-etcd-2").cluster.status!;
  const other = withUpdate(wanting({ ...OLD, version: "3.6.18" }), update);
  const status = updateStatus(other);
  expect(status).toMatchObject({ to: "3.6.18", startTime: "2026-01-01T12:00:00Z" });
  expect(status).not.toHaveProperty("stopped");
});

const updating: { name: string; given: ClusterSnapshot; is: boolean }[] = [
  { name: "the spec is unchanged", given: settled, is: false },
  { name: "the spec asks for another release", given: wanted, is: true },
  {
    name: "an EtcdPeer has the new template, and its pod has the old one",
    given: withTurn(settled, "my-etcd-1", NEWER),
    is: true,
  },
  {
    name: "only an EtcdPeer that is being deleted has a new template",
    given: begin(settled).apply(withTurn, "my-etcd-1", NEWER).apply(withDyingPeer, "my-etcd-1").snapshot,
    is: false,
  },
  { name: "the update was stopped", given: withStop(wanted, "my-etcd-2"), is: false },
  {
    name: "a downgrade was stopped",
    given: withStop(cluster({ spec: { version: "3.5.35" } }), "my-etcd-2"),
    is: false,
  },
  {
    name: "a rolled-back member still runs the failed template",
    given: begin(wanted).apply(madeFrom, "my-etcd-2", NEWER).apply(withStop, "my-etcd-2").snapshot,
    is: true,
  },
  { name: "the cluster is being formed", given: cluster({ stage: "starting", spec: NEWER }), is: false },
  { name: "a pod has no revision", given: madeFrom(settled, "my-etcd-1", undefined), is: false },
];

for (const { name, given, is } of updating)
  test(`isUpdating is ${is} when ${name}`, () => expect(isUpdating(given)).toBe(is));

test("no member waits for a person to delete its pod while the cluster is being formed", () => {
  const turned = withTurn(wanting(NEWER, { spec: ON_DELETE }), "my-etcd-2");
  expect(waitingForDeletion(turned)).toEqual(["my-etcd-2"]);
  const forming = cluster({ stage: "starting", spec: { ...NEWER, ...ON_DELETE } }).cluster;
  expect(waitingForDeletion({ ...turned, cluster: forming })).toEqual([]);
});
