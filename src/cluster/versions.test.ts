import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { versionSchema } from "#api/common-schema.ts";
import { templateIn } from "#api/revision.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { runningVersion, templateFor, versionOf } from "#cluster/versions.ts";
import { isRelease } from "#etcd/version.ts";
import { cluster } from "#kit/cluster.ts";
import { madeFrom, OLD, withPeer, withTurn } from "#kit/cluster-rolling.ts";
import { withResources } from "#kit/pod-template.ts";

interface Given {
  /** Releases that the EtcdPeers have, from my-etcd-0 on. */
  readonly peers: readonly string[];
  /** Releases that the status tells, from my-etcd-0 on. */
  readonly told?: readonly string[];
  /** What the status tells of the cluster. */
  readonly whole?: string;
}

function running({ peers, told = [], whole }: Given): ClusterSnapshot {
  const settled = cluster({ replicas: Math.max(peers.length, 1), spec: { version: "3.7.0" } });
  const members = told.map((version, n) => {
    return { name: `my-etcd-${n}`, id: `${n}`, healthy: true, leader: false, learner: false, version };
  });
  const status = { ...settled.cluster.status, members, ...(whole === undefined ? {} : { version: whole }) };
  const made = peers.map((version, n) => ({ ...settled.peers[n]!, spec: { ...settled.peers[n]!.spec, version } }));
  return { ...settled, cluster: { ...settled.cluster, status }, peers: made };
}

test.each<[string, Given, string]>([
  ["what most members run, when they are the last", { peers: ["3.5.30", "3.6.16", "3.6.16"] }, "3.6.16"],
  ["what most members run, when they are the first", { peers: ["3.6.16", "3.6.16", "3.5.30"] }, "3.6.16"],
  ["of equals the oldest", { peers: ["3.6.16", "3.5.30"] }, "3.5.30"],
  ["what the only EtcdPeer has, not another patch that was told", { peers: ["3.5.30"], told: ["3.5.35"] }, "3.5.30"],
  ["what was told, when the only EtcdPeer wishes for another minor", { peers: ["3.5.30"], told: ["3.6.16"] }, "3.6.16"],
  [
    "what each was told to run, when EtcdPeers wish for another minor",
    { peers: ["3.5.30", "3.6.16", "3.6.16"], told: ["3.7.1", "3.6.16", "3.6.16"] },
    "3.6.16",
  ],
  ["without EtcdPeers what was told", { peers: [], told: ["3.6.16", "3.5.30", "3.5.30"], whole: "3.7.3" }, "3.5.30"],
  [
    "builds of somebody's own are no release",
    { peers: [], told: ["mine", "mine", "3.6.16"], whole: "3.7.3" },
    "3.6.16",
  ],
  ["when nothing was told of members, what was told of the cluster", { peers: [], whole: "3.6.2" }, "3.6.2"],
  ["when nothing was told, what is asked for", { peers: [] }, "3.7.0"],
])("versions: new members get %s", (_what, given, version) => {
  expect(runningVersion(running(given))).toBe(version);
});

test.each<[string, Given, string]>([
  ["its EtcdPeer has, not what it told", { peers: ["3.6.16", "3.5.30", "3.6.16"], told: ["", "3.6.16"] }, "3.5.30"],
  ["it told, not what others did", { peers: ["3.6.16"], told: ["3.6.16", "3.5.30"] }, "3.5.30"],
  [
    "the cluster runs, when it told of a build of somebody's own",
    { peers: ["3.6.16"], told: ["3.6.16", "mine"] },
    "3.6.16",
  ],
  ["the cluster runs, when it told nothing", { peers: ["3.6.16"], told: ["3.6.30"] }, "3.6.16"],
])("versions: a member keeps what %s", (_what, given, version) => {
  expect(versionOf(running(given), "my-etcd-1")).toBe(version);
});

test("versions: whatever the schema lets pass can be compared, as what a member tells", () => {
  const rules = versionSchema.meta()?.["x-kubernetes-validations"] as { rule: string }[] | undefined;
  const pattern = /^self\.matches\('(\^3.+\$)'\)$/.exec(rules?.[0]?.rule ?? "")?.[1] ?? "";
  const accepted = fc.stringMatching(new RegExp(pattern), { maxLength: 32 });
  fc.assert(
    fc.property(accepted, accepted, (peer, told) => {
      expect(isRelease(peer)).toBe(true);
      expect([peer, told]).toContain(runningVersion(running({ peers: [peer, told], told: [told, peer] })));
    }),
  );
});

describe("versions: what a new member gets is what members run, flags and release alike", () => {
  const flags = (name: string) => ({ etcd: { extraArgs: { [name]: "10m" } } });
  const old = { ...OLD, version: "3.5.35", ...flags("experimental-corrupt-check-time") };
  const next = { ...OLD, version: "3.6.16", ...flags("corrupt-check-time") };
  const whole = cluster({ spec: next });
  const before = whole.peers.reduce(
    (given, { metadata: { name } }) => madeFrom(withPeer(given, name, { spec: old }), name, old),
    whole,
  );
  const updated = (snapshot: ClusterSnapshot, name: string) => madeFrom(withTurn(snapshot, name, next), name, next);
  const telling = (snapshot: ClusterSnapshot, ...versions: readonly string[]): ClusterSnapshot => {
    const members = versions.map((version, n) => ({ name: `my-etcd-${n}`, version })) as never;
    const { cluster, peers } = snapshot;
    return {
      ...snapshot,
      peers: peers.slice(0, versions.length),
      cluster: { ...cluster, status: { ...cluster.status, members } },
    };
  };

  test("also in the middle of an update, of which one member has been lost", () => {
    const half = withTurn(updated(before, "my-etcd-0"), "my-etcd-1", next);
    expect(templateFor(telling(half, "3.6.16", "3.5.35"), "my-etcd-3")).toEqual(templateIn(old));
  });

  test("what they ran before the update is over with it", () => {
    const done = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(updated, before);
    expect(templateFor(telling(done, "3.6.16", "3.6.16", "3.6.16"), "my-etcd-3")).toEqual(templateIn(next));
  });

  test("also where an image is of another release than it is called", () => {
    const called = telling({ ...before, cluster: { ...before.cluster, spec: whole.cluster.spec } }, "3.6.1", "3.6.1");
    expect(templateFor(called, "my-etcd-3")).toEqual({ ...templateIn(old), version: "3.6.1" });
  });
});

test("versions: a member keeps its podTemplate, and a new one gets what most have", () => {
  const settled = cluster({ replicas: 5, spec: { podTemplate: { metadata: { annotations: { is: "asked for" } } } } });
  const few = withResources({ limits: { cpu: "1" } });
  const most = withResources({ limits: { cpu: "2" } });
  const given = (templates: readonly object[]): ClusterSnapshot => ({
    ...settled,
    peers: templates.map((podTemplate, n) => ({
      ...settled.peers[n]!,
      spec: { ...settled.peers[n]!.spec, podTemplate },
    })),
  });
  const mixed = given([few, most, most]);
  expect(templateFor(mixed, "my-etcd-0").podTemplate).toEqual(few);
  expect(templateFor(mixed, "my-etcd-1").podTemplate).toEqual(most);
  expect(templateFor(mixed, "my-etcd-9").podTemplate).toEqual(most);
  expect(templateFor(given([most, most, few]), "my-etcd-9").podTemplate).toEqual(most);
  expect(templateFor(given([]), "my-etcd-9").podTemplate).toEqual(settled.cluster.spec.podTemplate);
});
