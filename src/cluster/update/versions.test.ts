import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { versionSchema } from "#api/common-schema.ts";
import { templateIn } from "#api/revision.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { isRelease } from "#etcd/version.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { madeFrom, OLD, withPeer, withRelease, withTurn } from "#kit/snapshots/cluster-rolling.ts";
import { withResources } from "#kit/snapshots/pod-template.ts";
import { runningVersion, templateFor, versionOf, withReleaseOf } from "./versions.ts";

interface Given {
  /** Releases in the EtcdPeers, from my-etcd-0 on. */
  readonly peers: readonly string[];
  /** Releases of members in the status, from my-etcd-0 on. */
  readonly told?: readonly string[];
  /** The release of the cluster in the status. */
  readonly whole?: string;
}

function running({ peers, told = [], whole }: Given): ClusterSnapshot {
  const settled = cluster({ replicas: Math.max(peers.length, 1), spec: { version: "3.7.0" } });
  const members = told.map((version, n) => {
    return { name: `my-etcd-${n}`, id: `${n}`, role: "Voter" as const, health: "Healthy" as const, version };
  });
  const status = { ...settled.cluster.status, members, ...(whole === undefined ? {} : { version: whole }) };
  const made = peers.map((version, n) => ({ ...settled.peers[n]!, spec: { ...settled.peers[n]!.spec, version } }));
  return { ...settled, cluster: { ...settled.cluster, status }, peers: made };
}

test.each<[string, Given, string]>([
  ["that of most EtcdPeers, when they are the last", { peers: ["3.5.30", "3.6.16", "3.6.16"] }, "3.6.16"],
  ["that of most EtcdPeers, when they are the first", { peers: ["3.6.16", "3.6.16", "3.5.30"] }, "3.6.16"],
  ["the oldest when two releases are equally frequent", { peers: ["3.6.16", "3.5.30"] }, "3.5.30"],
  [
    "that of the only EtcdPeer when its member reports another patch release",
    { peers: ["3.5.30"], told: ["3.5.35"] },
    "3.5.30",
  ],
  ["the reported one when the only EtcdPeer has another minor", { peers: ["3.5.30"], told: ["3.6.16"] }, "3.6.16"],
  [
    "that of most members, with the reported one where the EtcdPeer has another minor",
    { peers: ["3.5.30", "3.6.16", "3.6.16"], told: ["3.7.1", "3.6.16", "3.6.16"] },
    "3.6.16",
  ],
  [
    "that of most reports without EtcdPeers",
    { peers: [], told: ["3.6.16", "3.5.30", "3.5.30"], whole: "3.7.3" },
    "3.5.30",
  ],
  [
    "never that of custom builds, also when most members report one",
    { peers: [], told: ["mine", "mine", "3.6.16"], whole: "3.7.3" },
    "3.6.16",
  ],
  ["that in the cluster status without reports of members", { peers: [], whole: "3.6.2" }, "3.6.2"],
  ["spec.version without any report", { peers: [] }, "3.7.0"],
])("the release for new members is %s", (_what, given, version) => {
  expect(runningVersion(running(given))).toBe(version);
});

test.each<[string, Given, string]>([
  [
    "that of its EtcdPeer, not the one that it reported",
    { peers: ["3.6.16", "3.5.30", "3.6.16"], told: ["", "3.6.16"] },
    "3.5.30",
  ],
  [
    "the one that it reported last when it has no EtcdPeer",
    { peers: ["3.6.16"], told: ["3.6.16", "3.5.30"] },
    "3.5.30",
  ],
  [
    "that of the cluster when it has no EtcdPeer and reported a custom build",
    { peers: ["3.6.16"], told: ["3.6.16", "mine"] },
    "3.6.16",
  ],
  [
    "that of the cluster when it has no EtcdPeer and reported nothing",
    { peers: ["3.6.16"], told: ["3.6.30"] },
    "3.6.16",
  ],
])("the release of my-etcd-1 is %s", (_what, given, version) => {
  expect(versionOf(running(given), "my-etcd-1")).toBe(version);
});

describe("a recreated EtcdCluster", () => {
  /** The claims have these releases; spec.version is 3.7.0. */
  const alone = (...releases: readonly string[]): ClusterSnapshot => {
    const given = cluster({ spec: { version: "3.7.0" } });
    return {
      ...releases.reduce((before, release, n) => withRelease(before, `my-etcd-${n}`, release), given),
      peers: [],
    };
  };

  test("starts each member with the release of its claim", () => {
    const given = alone("3.5.35", "3.6.16", "3.6.16");
    expect(["my-etcd-0", "my-etcd-1"].map((name) => versionOf(given, name))).toEqual(["3.5.35", "3.6.16"]);
  });

  test("gives new members the release of most claims, ignoring invalid ones", () => {
    expect(runningVersion(alone("3.5.35", "3.6.16", "3.6.16"))).toBe("3.6.16");
    expect(runningVersion(alone("latest", "latest", "3.6.16"))).toBe("3.6.16");
    expect(versionOf(alone("latest", "3.6.16", "3.6.16"), "my-etcd-0")).toBe("3.6.16");
  });

  test("runs spec.version when no claim has a release", () => {
    expect(runningVersion(alone())).toBe("3.7.0");
    expect(versionOf(alone(), "my-etcd-0")).toBe("3.7.0");
  });

  test("prefers the releases that members have reported since", () => {
    const given = alone("3.5.35", "3.5.35", "3.5.35");
    const members = [
      { name: "my-etcd-0", id: "1", role: "Voter" as const, health: "Healthy" as const, version: "3.6.16" },
    ];
    const status = { ...given.cluster.status, members };
    const told = { ...given, cluster: { ...given.cluster, status } };
    expect(runningVersion(told)).toBe("3.6.16");
    expect(versionOf(told, "my-etcd-0")).toBe("3.6.16");
  });

  test("uses the image digest only for members that run spec.version, and a tag for other releases", () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const given = alone("3.5.35", "3.7.0", "3.7.0");
    const image = { repository: "registry.example/etcd", digest };
    const pinned = { ...given, cluster: { ...given.cluster, spec: { ...given.cluster.spec, image } } };
    expect(templateFor(pinned, "my-etcd-0").image).toEqual({ repository: "registry.example/etcd" });
    expect(templateFor(pinned, "my-etcd-1").image).toEqual(image);
  });
});

test("every version that the schema allows can be compared", () => {
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

test("versions: an image with a tag stays when only its release changes", () => {
  const image = { repository: "registry.example/etcd" };
  const other = { ...OLD, version: "3.7.0", image: { repository: "other.example/etcd" } };
  expect(withReleaseOf({ ...OLD, image }, other)).toEqual({ ...OLD, image, version: "3.7.0" });
});

test("versions: a digest is dropped when the template with the other release names no image", () => {
  const image = { repository: "registry.example/etcd", digest: `sha256:${"a".repeat(64)}` };
  expect(withReleaseOf({ ...OLD, image }, { ...OLD, version: "3.7.0" })).toStrictEqual({ ...OLD, version: "3.7.0" });
});

describe("the template of a new member", () => {
  const flags = (name: string) => ({ etcd: { extraArgs: { [name]: "10m" } } });
  const old = { ...OLD, version: "3.5.35", ...flags("experimental-corrupt-check-time") };
  const next = { ...OLD, version: "3.6.16", ...flags("corrupt-check-time") };
  const whole = cluster({ spec: next });
  const before = whole.peers.reduce(
    (given, { metadata: { name } }) =>
      begin(given).apply(withPeer, name, { spec: old }).apply(madeFrom, name, old).snapshot,
    whole,
  );
  const updated = (snapshot: ClusterSnapshot, name: string) =>
    begin(snapshot).apply(withTurn, name, next).apply(madeFrom, name, next).snapshot;
  const telling = (snapshot: ClusterSnapshot, ...versions: readonly string[]): ClusterSnapshot => {
    const members = versions.map((version, n) => ({ name: `my-etcd-${n}`, version })) as never;
    const { cluster, peers } = snapshot;
    return {
      ...snapshot,
      peers: peers.slice(0, versions.length),
      cluster: { ...cluster, status: { ...cluster.status, members } },
    };
  };

  test("gets the older template when a lost member leaves one member with each release", () => {
    const half = withTurn(updated(before, "my-etcd-0"), "my-etcd-1", next);
    expect(templateFor(telling(half, "3.6.16", "3.5.35"), "my-etcd-3")).toEqual(templateIn(old));
  });

  test("gets the new template once all members are updated", () => {
    const done = ["my-etcd-0", "my-etcd-1", "my-etcd-2"].reduce(updated, before);
    expect(templateFor(telling(done, "3.6.16", "3.6.16", "3.6.16"), "my-etcd-3")).toEqual(templateIn(next));
  });

  test("gets the reported release with the flags of the EtcdPeers when an image reports another minor than its tag", () => {
    const called = telling({ ...before, cluster: { ...before.cluster, spec: whole.cluster.spec } }, "3.6.1", "3.6.1");
    expect(templateFor(called, "my-etcd-3")).toEqual({ ...templateIn(old), version: "3.6.1" });
  });
});

test("a member keeps its podTemplate, and a new member gets that of most members", () => {
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
