import { expect, test } from "vitest";
import { awaitHealth } from "#cluster/members/rules/await-health.ts";
import { replaceLost } from "#cluster/members/rules/replace-lost.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { begin } from "#kit/snapshots/begin.ts";
import { ALWAYS_WELL, cluster, sickFor, unpublished, withRemoval } from "#kit/snapshots/cluster.ts";
import { dialled, THEIRS, withJoined, withMember, withoutClaim } from "#kit/snapshots/cluster-changes.ts";

const settled = cluster();
const down = cluster({ down: ["my-etcd-1"] });
const twoDown = cluster({ replicas: 5, down: ["my-etcd-1", "my-etcd-3"] });
const five = cluster({ replicas: 5 });

/** A later member that participates and has not served clients for this long, in milliseconds. */
function silentFor(snapshot: ClusterSnapshot, ms: Readonly<Record<string, number>>): ClusterSnapshot {
  return Object.entries(ms).reduce((given, [name, each]) => {
    const { id } = five.cluster.status!.identity!.initialMembers.find((member) => member.name === name)!;
    const history = { ...ALWAYS_WELL, silentForMs: each, unfitForMs: each };
    const late = unpublished(given, name, id);
    return { ...late, histories: new Map([...late.histories, [id, history] as const]) };
  }, snapshot);
}

const away = cluster({ down: ["my-etcd-2"] });
const waits: { name: string; given: ClusterSnapshot; expect: object }[] = [
  {
    name: "names a member that is down, and rechecks every second at first",
    given: down,
    expect: { because: "waiting for my-etcd-1 to be healthy again", recheckAfterMs: 1_000, warn: false },
  },
  {
    name: "rechecks a member that has been down for 50 s every 5 s",
    given: sickFor(down, "my-etcd-1", 50_000),
    expect: { recheckAfterMs: 5_000 },
  },
  {
    name: "with two members down, rechecks at the interval for the member that went down last",
    given: begin(twoDown).apply(sickFor, "my-etcd-1", 80_000).apply(sickFor, "my-etcd-3", 30_000).snapshot,
    expect: { because: "waiting for my-etcd-1, my-etcd-3 to be healthy again", recheckAfterMs: 3_000 },
  },
  {
    name: "reports for each member that the spec forbids its replacement",
    given: { ...sickFor(down, "my-etcd-1", 3_000_000), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: {
      because:
        "waiting for my-etcd-1 to be healthy again; my-etcd-1 is not replaced, because spec.replacement.policy is Never",
    },
  },
  {
    name: "reports for several members that the spec forbids their replacement",
    given: { ...twoDown, replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: { because: expect.stringMatching(/; my-etcd-1, my-etcd-3 are not replaced, because/) },
  },
  {
    name: "does not report a member without a claim as never replaced, although spec.replacement.policy is Never",
    given: { ...withoutClaim(down, "my-etcd-1"), replaceAfterMs: Number.POSITIVE_INFINITY },
    expect: { because: "waiting for my-etcd-1 to be healthy again" },
  },
  {
    name: "rechecks an initial member that has yet to join by how long its container has run",
    given: begin(away).apply(withJoined, 2).apply(dialled, "my-etcd-2", 5_000).apply(sickFor, "my-etcd-2", 50_000)
      .snapshot,
    expect: { recheckAfterMs: 500 },
  },
  {
    name: "rechecks an initial member that has yet to join at least as often as any other member",
    given: begin(away).apply(withJoined, 2).apply(dialled, "my-etcd-2", 50_000).apply(sickFor, "my-etcd-2", 20_000)
      .snapshot,
    expect: { recheckAfterMs: 2_000 },
  },
  {
    name: "rechecks an initial member that has joined by how long it has been down",
    given: begin(down).apply(dialled, "my-etcd-1", 5_000).apply(sickFor, "my-etcd-1", 50_000).snapshot,
    expect: { recheckAfterMs: 5_000 },
  },
  {
    name: "names a member that does not serve clients yet, without a warning for 30 s",
    given: silentFor(five, { "my-etcd-1": 30_000 }),
    expect: { because: "waiting for my-etcd-1 to serve clients", recheckAfterMs: 3_000, warn: false },
  },
  {
    name: "warns about a member that has not served clients for more than 30 s",
    given: silentFor(five, { "my-etcd-1": 30_001 }),
    expect: { warn: true },
  },
  {
    name: "warns when one of two members with silent client ports has not served clients for 40 s",
    given: silentFor(five, { "my-etcd-1": 40_000, "my-etcd-3": 20_000 }),
    expect: { because: "waiting for my-etcd-1, my-etcd-3 to serve clients", recheckAfterMs: 2_000, warn: true },
  },
];
for (const { name, given, expect: wanted } of waits) {
  test(`await-health: ${name}`, () => expect(awaitHealth.decide(given)).toMatchObject({ next: "wait", ...wanted }));
}

test("await-health: does not wait for a member that was added by hand", () => {
  expect(awaitHealth.decide(withMember(settled, THEIRS))).toBeUndefined();
});

test("replace-lost: does not record a removal twice", () => {
  const lost = sickFor(down, "my-etcd-1", 300_000);
  expect(replaceLost.decide(lost)).toMatchObject({ step: { do: "markRemoval", removal: "replacement" } });
  expect(replaceLost.decide(withRemoval(lost, "my-etcd-1", "replacement"))).toBeUndefined();
});
